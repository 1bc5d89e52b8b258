"""Makes captures with symbols for the tests: workloads, recordings, archives with the tables that naming needs."""
