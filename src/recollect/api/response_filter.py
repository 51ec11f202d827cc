"""Unread: what is left of an answer for whoever may ask for it and not read, so that nobody reads by the way."""

from recollect.api.operation import Answer

OWN_WORDS = "refused"
"""The verdict whose reason is about the draft alone; any other may quote what is known."""


def own(answer: Answer) -> Answer:
    """All of it: it says nothing that the caller has not said."""
    return answer


def names(answer: Answer) -> Answer:
    """All of it: it has the names of scopes and memories, and how many there are, and nothing that a memory says."""
    return answer


def receipt(answer: Answer) -> Answer:
    """What became of a draft or a memory, and neither what the memory says nor why, which may quote another."""
    told = {**answer, "memory": None}
    return told if answer["verdict"] == OWN_WORDS or "reason" not in answer else {**told, "reason": None}


def receipts(answer: Answer) -> Answer:
    """The same of several."""
    return {**answer, "receipts": [receipt(one) for one in answer["receipts"]]}


def extracts(answer: Answer) -> Answer:
    """The same of what a conversation left behind."""
    return {**answer, "extracts": [receipt(one) for one in answer["extracts"]]}


def saved(answer: Answer) -> Answer:
    """What became of an observation, but not why, which may quote another."""
    return answer if answer["outcome"] == OWN_WORDS else {**answer, "reason": None}


def noted(answer: Answer) -> Answer:
    """What the caller said of a context, and not which memories the answer quotes: that would confirm a guess."""
    return {**answer, "quoted": []}


def begun(answer: Answer) -> Answer:
    """The task, which is the caller's own word, and nothing of what others did for it until it was sent again."""
    return {**answer, "outcome": None, "value": None, "contexts": [], "actions": []}


def recorded(answer: Answer) -> Answer:
    """Whether a task is under way, and nothing of what others said or did for it."""
    return {**answer, **_NOTHING, "outcome": None, "value": None}


def completed(answer: Answer) -> Answer:
    """How a task ended, which is the caller's own word, and nothing of what others said or did for it."""
    return {**receipts(answer), **_NOTHING}


def undone(answer: Answer) -> Answer:
    """That a run was undone, and by which; not the memories that it wrote."""
    return {**answer, "memories": []}


def planned(answer: Answer) -> Answer:
    """What a job would do to which memories, and none of their words: nor why, which may quote them, nor the digests,
    which would confirm a guess.
    """
    plan = answer["plan"]
    if plan is None:  # it was done, and the runs name memories by their ids
        return answer
    steps = [{**step, "text": None, "reason": None, "state": None} for step in plan["steps"]]
    return {**answer, "plan": {**plan, "hash": None, "steps": steps}}


_NOTHING: Answer = {"task": None, "plan": [], "session": None, "contexts": [], "actions": []}
"""A task without what it is."""
