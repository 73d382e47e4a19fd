"""Part of a stand-in for the benchmark: see `environment.environment`."""
