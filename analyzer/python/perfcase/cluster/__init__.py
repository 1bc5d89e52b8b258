"""Questions to many captures at once, on a cluster of Apache Spark."""
