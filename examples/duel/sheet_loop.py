"""Math sheets through a small solver loop: one problem a message, two tries each (dialect `boxed`)."""

from conversations import Message, Policy, Reply, Rollout
from dialects import BOXED
from math_sheets import PASS_MARK
from plan import SheetPlan
from worked import show_problems

HARNESS = "math_sheet_loop"
HARNESS_VERSION = "1"
TRIES = 2


def run_sheet(planned: SheetPlan, policy: Policy) -> Rollout:
    """One rollout of a sheet with some of its worked problems shown; it ends when the last problem was answered."""
    worked, said = show_problems(BOXED, planned.sheet.worked[: planned.form.problems])
    messages = [Message(role="system", content=planned.system), *worked]
    replies: list[Reply] = []
    right = 0
    for problem in planned.sheet.problems:
        said = f"{said}\n\nProblem: {problem.text}"
        solved = False
        for left in reversed(range(TRIES)):
            messages.append(Message(role="user", content=said))
            reply = policy.answer(messages)
            messages.append(Message(role="assistant", content=reply.text, call=len(replies)))
            replies.append(reply)
            solved = is_right(reply.text, problem.answer)
            if solved:
                break
            said = "Wrong. Try once more." if left else f"Wrong. It is {problem.answer}."
        right += solved
        said = "Right." if solved else said
    return Rollout(
        messages=tuple(messages), replies=tuple(replies), stop="agent_completed", score=int(right >= PASS_MARK)
    )


def is_right(reply: str, answer: str) -> bool:
    """Whether the last boxed text of `reply` is the answer, white space aside."""
    boxed = BOXED.find_actions(reply)
    return bool(boxed) and BOXED.read_command(boxed[-1]) == answer
