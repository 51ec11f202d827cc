"""How good is a ranking? Judgements go in, figures come out."""
