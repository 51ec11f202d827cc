"""What happens to a draft before it is a memory."""
