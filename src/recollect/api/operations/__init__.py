"""The operations by subject: each has a required right, a request and a handler."""
