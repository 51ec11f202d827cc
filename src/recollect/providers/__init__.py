"""Clients and local models that compute vectors, extractions and summaries."""
