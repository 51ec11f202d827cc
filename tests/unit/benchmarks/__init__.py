"""The pure parts of the benchmarks, and their protocol with the one driver that needs nothing."""
