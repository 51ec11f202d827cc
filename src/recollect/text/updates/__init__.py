"""Claims: plain English statements of which only one can be true at a time, such as a home town."""
