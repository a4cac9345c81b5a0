"""Names that differ in nothing a reader sees are refused; missing outcomes can be left out, counted and said."""

import pytest

from assay.kernel.errors import BadInput
from assay.labs.experiment.data import read_rows
from assay.labs.experiment.verdict import derive


@pytest.mark.parametrize("twin", ["new ", "New", "\uff4e\uff45\uff57", "ne w"])
def test_an_arm_that_differs_by_spaces_case_or_form_only_is_refused(write_source, twin):
    source = "arm,unit,cluster,ok,turns\n" + "".join(
        f"{arm},u{number},c{number},true,1\n" for number in range(6) for arm in ("new", "old")
    )
    path, experiment = write_source(source + f"{twin},u9,c1,false,1\n")
    with pytest.raises(BadInput, match="give one arm one name"):
        read_rows(path, experiment)


def test_missing_outcomes_leave_by_name_where_that_is_registered(make_experiment, make_evidence, make_pairs):
    pairs = [(f"u{c}{n}", f"c{c}", n != 1, n == 2) for c in range(7) for n in range(4)]
    whole = make_pairs(pairs)
    holed = make_pairs([("x1", "c1", None, True), ("x2", "c2", True, None), *pairs])
    experiment = make_experiment(outcome={"missing": "exclude"})
    verdict = derive(experiment, make_evidence(experiment, holed))
    assert verdict["estimate"] == derive(experiment, make_evidence(experiment, whole))["estimate"]
    left = {stage["id"]: stage["excluded"] for stage in verdict["funnel"]["stages"]}
    assert sum(left[f"outcome-missing-in-{side}"] for side in ("treatment", "control")) == 4  # both rows of two pairs
    assert "missing-excluded" in [note["code"] for note in verdict["notes"]]
    refused = make_experiment()
    assert derive(refused, make_evidence(refused, holed))["refusals"][0]["code"] == "missing-outcome"
