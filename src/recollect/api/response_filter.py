"""Unread: what is left of an answer for whoever may ask for it and not read, so that nobody reads by the way."""

from recollect.api.operation import Answer

REFUSED_VERDICT = "refused"
"""The verdict whose reason is about the draft alone; any other may quote what is known."""


def keep_own_words(answer: Answer) -> Answer:
    """All of it: it says nothing that the caller has not said."""
    return answer


def keep_names(answer: Answer) -> Answer:
    """All of it: it has the names of scopes and memories, and how many there are, and nothing that a memory says."""
    return answer


def redact_receipt(answer: Answer) -> Answer:
    """What became of a draft or a memory, and neither what the memory says nor why, which may quote another."""
    told = {**answer, "memory": None}
    return told if answer["verdict"] == REFUSED_VERDICT or "reason" not in answer else {**told, "reason": None}


def redact_receipts(answer: Answer) -> Answer:
    """The same of several."""
    return {**answer, "receipts": [redact_receipt(one) for one in answer["receipts"]]}


def redact_extracts(answer: Answer) -> Answer:
    """The same of what a conversation left behind."""
    return {**answer, "extracts": [redact_receipt(one) for one in answer["extracts"]]}


def redact_saved_observation(answer: Answer) -> Answer:
    """What became of an observation, but not why, which may quote another."""
    return answer if answer["outcome"] == REFUSED_VERDICT else {**answer, "reason": None}


def redact_feedback(answer: Answer) -> Answer:
    """What the caller said of a context, and not which memories the answer quotes: that would confirm a guess."""
    return {**answer, "quoted": []}


def redact_started_episode(answer: Answer) -> Answer:
    """The task, which is the caller's own word, and nothing of what others did for it until it was sent again."""
    return {**answer, "outcome": None, "value": None, "contexts": [], "actions": []}


def redact_recorded_action(answer: Answer) -> Answer:
    """Whether a task is under way, and nothing of what others said or did for it."""
    return {**answer, **_EMPTY_EPISODE, "outcome": None, "value": None}


def redact_completed_episode(answer: Answer) -> Answer:
    """How a task ended, which is the caller's own word, and nothing of what others said or did for it."""
    return {**redact_receipts(answer), **_EMPTY_EPISODE}


def redact_undo(answer: Answer) -> Answer:
    """That a run was undone, and by which; not the memories that it wrote."""
    return {**answer, "memories": []}


def redact_plan(answer: Answer) -> Answer:
    """What a job would do to which memories, and none of their words: nor why, which may quote them, nor the digests,
    which would confirm a guess.
    """
    plan = answer["plan"]
    if plan is None:  # it was done, and the runs name memories by their ids
        return answer
    steps = [{**step, "text": None, "reason": None, "state": None} for step in plan["steps"]]
    return {**answer, "plan": {**plan, "hash": None, "steps": steps}}


_EMPTY_EPISODE: Answer = {"task": None, "plan": [], "session": None, "contexts": [], "actions": []}
"""A task without what it is."""
