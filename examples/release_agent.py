"""An agent that learns from what went wrong: before each task it asks what failed when it tried the like before.

The agent is scripted and the world is made up, so that every run is the same. Run from the root of a clone, with
`source .venv/bin/activate`: `python examples/release_agent.py`.
"""

import recollect

SCOPE = "acme/releaser"

TASKS = (
    "Release version 1.4 of the billing service",
    "Release version 2.0 of the search service",
    "Write the minutes of the team meeting",
    "Release version 1.5 of the billing service",
)

USUAL = {"Release": ["run the tests", "build the image", "push the image"], "Write": ["collect the notes", "write"]}

REMEDIES = {
    "the push is denied without a login": "log in to the registry",
    "the image has no version without a tag": "tag the commit",
}
"""What the agent can do about something that went wrong, if it knows that it will."""


def main() -> None:
    """The same family of tasks, four times; nothing tells the agent what it lacks but its own past."""
    with recollect.open(":memory:") as memory:
        for task in TASKS:
            work(memory, task)
        print("\nwhat it knows by now about releases:")
        for scored in memory.search("release a service", scope=SCOPE, kinds=["learning"], limit=5):
            print(f"  {scored.memory.text} (sure {scored.memory.confidence:.2f})")


def work(memory: recollect.Engine, task: str) -> None:
    """Plan with what went wrong before in mind, act, and keep how it went."""
    print(f"\n{task}")
    plan = list(USUAL[task.split()[0]])
    for warning in memory.episodes.failure_modes(task, scope=SCOPE, min_score=0.3):
        print(f"  warned: {warning.text} ({len(warning.episodes)} before, score {warning.score:.2f})")
        plan.insert(0, REMEDIES[warning.text])

    episode = memory.episodes.start(task, scope=SCOPE, plan=plan)
    failures: list[str] = []
    done: list[str] = []
    for step in plan:
        problem = world(step, done)
        result = "failed" if problem else "succeeded"
        memory.episodes.record(episode.id, step, scope=SCOPE, output=problem, result=result)
        print(f"  {result:9}  {step}{': ' if problem else ''}{problem}")
        if problem:
            failures.append(problem)
            break
        done.append(step)

    lessons = [f"{REMEDIES[one].capitalize()} before a release is pushed" for one in failures]
    outcome = 0.4 if failures else 1.0
    ended = memory.episodes.complete(episode.id, outcome, scope=SCOPE, lessons=lessons, failure_modes=failures)
    print(f"  outcome {outcome:g}, value {ended.value:.2f}")


def world(step: str, done: list[str]) -> str:
    """What goes wrong with a step after those, if anything."""
    if step != "push the image":
        return ""
    if "log in to the registry" not in done:
        return "the push is denied without a login"
    return "" if "tag the commit" in done else "the image has no version without a tag"


if __name__ == "__main__":
    main()
