"""What the registrations of all labs are built from: strict sections, and the account of who had seen what."""

from typing import Annotated, TypeAlias

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

__all__ = ["Id", "Section", "Seen", "Text"]

Text: TypeAlias = Annotated[str, Field(pattern=r"\S")]
Id: TypeAlias = Annotated[str, Field(pattern=r"^[a-z0-9-]{1,100}\z")]


class Section(BaseModel):
    """What all sections share: exact types, no unknown members, camelCase on the wire."""

    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        frozen=True,
        alias_generator=to_camel,
        allow_inf_nan=False,
        hide_input_in_errors=True,
    )


class Seen(Section):
    """Who had seen what of the data before the registration."""

    who: Text
    what: Text
