"""What can go wrong between a lab and a model. None of it is ever counted against who is being judged."""

from assay.kernel.errors import Unavailable

__all__ = ["BadAnswer", "ContextTooLong", "ModelFault", "ModelUnavailable"]


class ModelFault(Unavailable):
    """A model did not do its part."""

    code = "model-fault"


class ContextTooLong(ModelFault):
    """A text, or a prompt with the tokens asked for, is longer than the model's window; trying again never helps."""

    code = "context-too-long"


class ModelUnavailable(ModelFault):
    """The model cannot be reached, is overloaded or did not answer in time."""

    code = "model-unavailable"


class BadAnswer(ModelFault):
    """The model answered what the protocol does not allow, such as a wrong count of tokens, or no numbers."""

    code = "bad-answer"
