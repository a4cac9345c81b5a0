"""Shell sessions through mini-swe-agent: its agent and its parsers, the local policy as model, a session as shell.

Two of its ways are used: commands in a bash block (text), and tool calls, which the policy writes as text and which are
handed to the agent as the calls that a server would have read out of them.
"""

import json
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from conversations import Message, Policy, Reply, Rollout, Stop
from dialects import TOOL_CALL, Dialect
from minisweagent import __version__ as mini_version
from minisweagent.agents.default import DefaultAgent
from minisweagent.exceptions import FormatError, Submitted
from minisweagent.models.utils.actions_text import format_observation_messages, parse_regex_actions
from minisweagent.models.utils.actions_toolcall import format_toolcall_observation_messages, parse_toolcall_actions
from plan import SessionPlan
from sessions import TRIES, Session
from worked import show_worked

HARNESS_PACKAGE = "mini-swe-agent"
HARNESS_VERSION: str = mini_version
_ACTION = r"```bash\s*\n(.*?)\n```"
_FORMAT_ERROR = "{{error}} Give one action in the form shown."
_OBSERVATION = "{{output.output}}"

Json = dict[str, Any]


def show_text(_command: str, text: str, status: int) -> str:
    """What the shell printed, and its exit status where it is not 0."""
    return text if status == 0 else f"{text}\n(exit {status})"


class _Shell:
    """The agent's environment: a session, whose end ends the rollout."""

    config = None

    def __init__(self, session: Session) -> None:
        self._session = session

    def execute(self, action: Json, cwd: str = "") -> Json:  # noqa: ARG002 - the agent's interface
        """What the agent is told of the command."""
        told = self._session.run(action["command"])
        if told.ended != "no":
            raise Submitted({"role": "exit", "content": "", "extra": {"exit_status": told.ended, "submission": ""}})
        return {"output": told.text, "returncode": told.status, "exception_info": ""}

    def get_template_vars(self, **_: object) -> Json:
        """Nothing that a template needs."""
        return {}

    def serialize(self) -> Json:
        """Nothing that a trajectory needs."""
        return {}


class _Model:
    """The agent's model: the policy, shown the worked examples between the system message and the task."""

    config = None

    def __init__(self, policy: Policy, worked: Sequence[Message], dialect: Dialect) -> None:
        self._policy = policy
        self._worked = worked
        self._calls = dialect is TOOL_CALL
        self.replies: list[Reply] = []

    def see(self, messages: Sequence[Json]) -> list[Message]:
        """The agent's messages as the policy sees them: plain text, tool results as the user's."""
        seen = [_to_message(message) for message in messages if message["role"] != "exit"]
        return [seen[0], *self._worked, *seen[1:]]

    def query(self, messages: Sequence[Json], **_: object) -> Json:
        """The policy's reply with the actions that the harness reads in it."""
        reply = self._policy.answer(self.see(messages))
        message: Json = {"role": "assistant", "content": reply.text, "extra": {"call": len(self.replies), "cost": 0.0}}
        self.replies.append(reply)
        try:
            message["extra"]["actions"] = self._read_actions(reply)
        except FormatError as refused:
            raise FormatError(message, *refused.messages) from refused
        return message

    def format_message(self, **message: Any) -> Json:  # noqa: ANN401 - the agent's interface
        """The message as it is."""
        return message

    def format_observation_messages(self, message: Json, outputs: list[Json], template_vars: Json | None = None) -> Any:  # noqa: ANN401
        """What the commands printed, as the messages that the agent adds."""
        if self._calls:
            return format_toolcall_observation_messages(
                actions=message["extra"]["actions"],
                outputs=outputs,
                observation_template=_OBSERVATION,
                template_vars=template_vars,
            )
        return format_observation_messages(outputs, observation_template=_OBSERVATION, template_vars=template_vars)

    def get_template_vars(self, **_: object) -> Json:
        """Nothing that a template needs."""
        return {}

    def serialize(self) -> Json:
        """Nothing that a trajectory needs."""
        return {}

    def _read_actions(self, reply: Reply) -> Any:  # noqa: ANN401 - whatever the harness's parser makes of it
        if self._calls:
            calls = [_read_call(text, number) for number, text in enumerate(TOOL_CALL.find_actions(reply.text))]
            return parse_toolcall_actions(calls, format_error_template=_FORMAT_ERROR)
        return parse_regex_actions(reply.text, action_regex=_ACTION, format_error_template=_FORMAT_ERROR)


def run_session(planned: SessionPlan, policy: Policy) -> Rollout:
    """One rollout of a session in the dialect `bash` or `tool_call`."""
    worked, opening = show_worked(planned.dialect, planned.examples, show_text)
    model = _Model(policy, worked, planned.dialect)
    with Session(planned.tasks, show_text) as session:
        agent: Any = DefaultAgent(
            model,
            _Shell(session),
            system_template=planned.system,
            instance_template="{{opening}}\n\n{{task}}",
            step_limit=TRIES * len(planned.tasks),
            max_consecutive_format_errors=0,
        )
        ended = agent.run(session.opening, opening=opening)["exit_status"]
        passed = session.passed
    stop: Stop = "agent_completed" if ended == "solved" else "max_turns"
    return Rollout(
        messages=tuple(model.see(agent.messages)),
        replies=tuple(model.replies),
        stop=stop,
        score=int(passed == len(planned.tasks)),
    )


def _to_message(message: Json) -> Message:
    role = "user" if message["role"] == "tool" else message["role"]
    return Message(role=role, content=message["content"], call=message.get("extra", {}).get("call"))


def _read_call(text: str, number: int) -> SimpleNamespace:
    try:
        call = json.loads(text.removeprefix("<tool_call>").removesuffix("</tool_call>"))  # noqa: TID251 - a model's text
        name, arguments = str(call["name"]), json.dumps(call["arguments"])
    except (ValueError, TypeError, KeyError):
        name, arguments = "bash", text
    return SimpleNamespace(id=f"call_{number}", function=SimpleNamespace(name=name, arguments=arguments))
