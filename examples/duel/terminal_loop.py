"""Shell sessions through a small loop in the manner of terminal agents that answer in JSON (`terminus_json`)."""

from conversations import Message, Policy, Reply, Rollout, Stop, read_answer
from dialects import TERMINUS
from plan import SessionPlan
from sessions import TRIES, Session
from worked import show_worked

HARNESS = "json_terminal_loop"
HARNESS_VERSION = "1"


def show_screen(command: str, text: str, status: int) -> str:
    """A command and what it printed, as on a screen."""
    return f"$ {command}\n{text}" + (f"\n(exit {status})" if status else "")


def run_session(planned: SessionPlan, policy: Policy) -> Rollout:
    """One rollout of a session in the dialect `terminus_json`."""
    worked, said = show_worked(TERMINUS, planned.examples, show_screen)
    messages = [Message(role="system", content=planned.system), *worked]
    replies: list[Reply] = []
    stop: Stop | None = None
    with Session(planned.tasks, show_screen) as session:
        said = f"{said}\n\n{session.opening}"
        while stop is None:
            messages.append(Message(role="user", content=said))
            reply = policy.answer(messages)
            messages.append(Message(role="assistant", content=reply.text, call=len(replies)))
            replies.append(reply)
            said, stop = _run_reply(session, reply)
            if len(replies) == TRIES * len(planned.tasks):
                stop = stop or "max_turns"
        passed = session.passed
    return Rollout(messages=tuple(messages), replies=tuple(replies), stop=stop, score=int(passed == len(planned.tasks)))


def _run_reply(session: Session, reply: Reply) -> tuple[str, Stop | None]:
    objects = TERMINUS.find_actions(read_answer(reply.text))
    if len(objects) != 1:
        return f"Expected one JSON object, found {len(objects)}. Give one in the form shown.", None
    command = TERMINUS.read_command(objects[0])
    if command is None:
        return "There is no command. Give one.", None
    told = session.run(command)
    if told.ended == "no":
        return told.text, None
    return "", "agent_completed" if told.ended == "solved" else "max_turns"
