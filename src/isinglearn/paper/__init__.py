"""The paper's experiments, each a small script on the public API."""
