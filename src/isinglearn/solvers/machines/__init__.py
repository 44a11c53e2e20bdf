"""Everybody else's machines on the QUBO: thin adapters, one file each, registered by name."""

from __future__ import annotations

from isinglearn.solvers.machines import amplify as amplify
from isinglearn.solvers.machines import bifurcation as bifurcation
from isinglearn.solvers.machines import dwave as dwave
from isinglearn.solvers.machines import dwave_annealing as dwave_annealing
from isinglearn.solvers.machines import openjij as openjij
from isinglearn.solvers.machines import qaoa as qaoa
from isinglearn.solvers.machines import steepest_descent as steepest_descent
from isinglearn.solvers.machines import tabu as tabu
