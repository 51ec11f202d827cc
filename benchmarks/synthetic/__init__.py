"""Judgements of our own making: conversations, work in progress and long replies, the same for the same seed."""
