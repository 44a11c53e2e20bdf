"""Solvers: one file each, registered by name. ``run.solve`` is the door for all of them."""

from __future__ import annotations

from isinglearn.solvers import annealer as annealer
from isinglearn.solvers import brute as brute
from isinglearn.solvers import cpsat as cpsat
from isinglearn.solvers import gurobi as gurobi
from isinglearn.solvers import machines as machines
from isinglearn.solvers import patterns as patterns
from isinglearn.solvers import scip as scip
from isinglearn.solvers import treewidth as treewidth
