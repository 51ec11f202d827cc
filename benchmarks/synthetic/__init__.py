"""Judgements of our own making: conversations, work, replies, figures and notes, the same for the same seed."""
