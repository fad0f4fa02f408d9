"""What measures are called elsewhere, and the call that gives the same number here.

The table stands in the book too, tool by tool. Nothing of it is taken in silence: ir_measures'
`nDCG@10` and our `ndcg@10` differ by more than case.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple


class Call(NamedTuple):
    """What a tool calls a measure, as one asks for it here."""

    tool: str
    measure: str
    further: str = ""
    """What else has to be said."""


FIRST = ", with .list.first() of its column"
"""What has to be said besides of a number that is a list of one here."""

K = " with k after an @, as in 'ap@10'"
"""What has to be said besides of a name that leaves the cutoff open."""

CALLS: dict[str, dict[str, str | tuple[str, str]]] = {
    "trec_eval": {
        r"map": "ap",
        r"map_cut[_.](\d+)": "ap@{0}",
        r"P[_.](\d+)": "precision@{0}",
        r"recall[_.](\d+)": "recall@{0}",
        r"success[_.](\d+)": "success@{0}",
        r"relative_P[_.](\d+)": "recall(over=cutoff)@{0}",
        r"ndcg_cut[_.](\d+)": "ndcg(gain=linear)@{0}",
        r"recip_rank": "reciprocal_rank",
        r"Rprec": "r_precision",
        r"set_P": "precision",
        r"set_recall": "recall",
        r"set_F": "f_measure",
        r"num_ret": "n_retrieved",
        r"num_rel": "n_relevant",
        r"num_rel_ret": "n_relevant_retrieved",
        r"iprec_at_recall_([\d.]+)": ("interpolated_precision(recall_levels=[{0}])", FIRST),
    },
    "ranx": {
        r"hits(@\d+)?": "n_relevant_retrieved{0}",
        r"hit_rate(@\d+)?": "success{0}",
        r"f1(@\d+)?": "f_measure{0}",
        r"mrr(@\d+)?": "reciprocal_rank{0}",
        r"map(@\d+)?": "ap{0}",
        r"r-precision": "r_precision",
        r"dcg_burges(@\d+)?": "dcg{0}",
        r"ndcg_burges(@\d+)?": "ndcg{0}",
    },
    "scikit-learn": {
        r"(?:label_ranking_)?average_precision(?:_score)?": "ap",
        r"roc_auc_score": "roc_auc",
        r"(n?dcg)_score": "{0}(gain=linear, ties=average)",
        r"(n?dcg)_score\(k=(\d+)\)": "{0}(gain=linear, ties=average)@{1}",
    },
    "recommenders": {
        r"(?:HR|hr|hit|Hit|HitRate|hitrate|hit_ratio|HitRatio)(@\d+)?": "success{0}",
        r"(?:hit|hit_rate|hr)_at_(\d+)": "success@{0}",
        r"(precision|recall)_at_(\d+)": "{0}@{1}",
        r"(precision|recall)_at_k": ("{0}", K),
        r"(?:map|mean_average_precision|average_precision)_at_(\d+)": "ap(over=cutoff)@{0}",
        r"(?:map|mean_average_precision|average_precision)_at_k": ("ap(over=cutoff)", K),
        r"ndcg_at_(\d+)": "ndcg(gain=linear)@{0}",
        r"ndcg_at_k": ("ndcg(gain=linear)", K),
        r"(?:mrr|reciprocal_rank)_at_(\d+)": "reciprocal_rank@{0}",
        r"(?:mrr|reciprocal_rank)_at_k": ("reciprocal_rank", K),
    },
    "ml_metrics": {
        r"m?apk(@\d+)": "ap(over=cutoff){0}",
        r"m?apk": ("ap(over=cutoff)", K),
    },
    "a method": {r"(\w+)\((\d+)\)": "{0}@{1}"},  # as it is called in Python
    "LightGBM": {r"map(@\d+)": ("ap(over=cutoff){0}", " with undefined_as=1")},
    "XGBoost": {
        r"map(@\d+)": ("ap(over=cutoff){0}", " with undefined_as=1"),
        r"map(@\d+)-": "ap(over=cutoff){0}",
        r"ndcg(@\d+)?-": "ndcg{0}",
    },
}
"""By tool: patterns of names, and the call here, with what else has to be said."""

IR_MEASURES = {
    "AP": "ap",
    "MAP": "ap",
    "Bpref": "bpref",
    "BPref": "bpref",
    "IPrec": "interpolated_precision",
    "Judged": "judged",
    "NumRel": "n_relevant",
    "NumRelRet": "n_relevant_retrieved",
    "NumRet": "n_retrieved",
    "P": "precision",
    "Precision": "precision",
    "R": "recall",
    "Recall": "recall",
    "RBP": "rbp",
    "RR": "reciprocal_rank",
    "MRR": "reciprocal_rank",
    "Rprec": "r_precision",
    "RPrec": "r_precision",
    "SetF": "f_measure",
    "SetP": "precision",
    "SetR": "recall",
    "Success": "success",
    "ERR": "err",
    "nDCG": "ndcg",
    "NDCG": "ndcg",
}
"""Its measures and their aliases, which have their options in brackets and a cutoff after an @."""


JUDGES = "needs to know what was pooled and not judged, or several judges, and is not here"
CATALOGUE = (
    "needs a catalogue of items, how popular or how alike they are, beside judgments, and is not "
    "here{}"
)
INTENTS = "needs intents or a catalogue beside judgments, and is not here"
TARGET = (
    "needs the number of documents that a user is after, or what reading costs, and is not here"
)

ITEMS = "catalog|catalogue|item|user|prediction|aggregate"
CUT = r"(?:[@_]\d+|\(.*)?"
"""A cutoff, however a tool writes it."""

WITHOUT_A_CALL = {
    r"gm_(map|bpref)|GMAP": "is the `geometric_mean` that summarise gives of 'ap', or of 'bpref'",
    r"11pt_avg": "is the mean of the list that 'interpolated_precision' gives",
    r"set_map|SetAP": "is 'precision' times 'recall'",
    r"set_relative_P|SetRelP": "is n_relevant_retrieved / min(n_retrieved, n_relevant)",
    r"utility": "is 2 n_relevant_retrieved - n_retrieved",
    r"num_q|NumQ": "is the number of queries, which summarise gives",
    r"set_F[_.]([\d.]+)": "is 'f_measure(beta=b)' here, b being the root of {0}",
    r"Rprec_mult[_.]([\d.]+)": "is hits / c in the top c, the whole number in {0} R + 0.9",
    r"rbp\.(\d+)": "takes grades as gains; 'rbp(p=0.{0})' here is of relevant documents, and "
    "'rbp(p=0.{0}, graded=True)' of shares of the highest grade",
    r"SDCG.*": "is 'dcg(gain=linear)' over that of as many documents of the highest grade",
    r"infAP|infNDCG|\w+_avgjg": JUDGES,
    r"(alpha_|α-)?n?(DCG|ERR|NRBP|AP|P)[_-]?(IA|int).*|alpha_n?DCG.*|n?NRBP.*|StRecall.*": INTENTS,
    r"Compat.*|prefs_\w+": "goes by preferences between documents, and is not here",
    r"(INST|INSQ|BPM|TBG|NERR\d+)(@.*|\(.*)?": TARGET,
    rf"({ITEMS})?_?coverage{CUT}": CATALOGUE.format(
        "; 'coverage_ratio' is of relevant documents that the user knew"
    ),
    rf"({ITEMS})?_?novelty{CUT}|MIUF{CUT}|EPC{CUT}": CATALOGUE.format(
        "; 'novelty_ratio' is of relevant documents that the user did not know"
    ),
    rf"((aggregate|intra_?list|inter_?list)_?)?(diversity|similarity){CUT}|ILD{CUT}": (
        CATALOGUE.format("")
    ),
    rf"gini(_?index|_?coefficient)?{CUT}|ARP{CUT}|(average_?)?popularity{CUT}": (
        CATALOGUE.format("")
    ),
    rf"(serendipity|unexpectedness|personali[sz]ation|surprisal){CUT}": CATALOGUE.format(""),
    r"Accuracy(@.*|\(.*)?": "is 'roc_auc' of what was retrieved in ir_measures, the "
    "unjudged as irrelevant; a share of right predictions is not here",
}
"""What is to be said of measures of other tools that no single call gives."""


def said_elsewhere(name: str) -> str | None:
    """What to say of a name of other tools that no single call here stands for."""
    for pattern, said in WITHOUT_A_CALL.items():
        if match := re.fullmatch(pattern, name.strip(), re.IGNORECASE):
            return said.format(*match.groups())
    return None


def calls_here(name: str) -> list[Call]:
    """Return the calls of measures here that a name of another tool means; empty if it is none.

    Where no tool has it as it is written, capitals do not matter.
    """
    name = name.strip()
    return _calls(name, re.NOFLAG) or _calls(name, re.IGNORECASE)


def _calls(name: str, flags: re.RegexFlag) -> list[Call]:
    found = _of_ir_measures(name, flags)
    for tool, calls in CALLS.items():
        for pattern, call in calls.items():
            if match := re.fullmatch(pattern, name, flags):
                measure, further = (call, "") if isinstance(call, str) else call
                found.append(Call(tool, measure.format(*match.groups("")), further))
    return found


def _of_ir_measures(name: str, flags: re.RegexFlag) -> list[Call]:
    """What ir_measures calls so: `AP(rel=2)@100`."""
    match = re.fullmatch(r"(\w+)\s*(?:\((.*)\))?\s*(?:@\s*([\d.]+))?", name)
    called = (each for each in IR_MEASURES if match and re.fullmatch(each, match[1], flags))
    if match is None or (known := next(called, None)) is None:
        return []
    function, cutoff = IR_MEASURES[known], match[3]
    given = dict(re.findall(r"(\w+)\s*=\s*(\{[^}]*\}|[^,]+)", match[2] or ""))
    options, further = {}, ""
    if function == "ndcg" and "exp" not in given.pop("dcg", ""):
        options["gain"] = given.pop("gains", "linear")
    if given.pop("judged_only", "").strip() == "True":
        further = " with condensed=True"
    if function == "n_retrieved" and "rel" in given:
        function = "n_relevant_retrieved"
    if function == "err":
        further += (
            " with highest=4, where its scale ends whatever the grades (the highest grade of your "
            "own scale gives another number)"
        )
    if function == "f_measure" and "beta" in given:
        options["beta"] = f"{math.sqrt(float(given.pop('beta'))):g}"  # its beta is our beta squared
    if function == "interpolated_precision" and cutoff:
        options["recall_levels"], cutoff, further = f"[{cutoff}]", None, further + FIRST
    for option, value in given.items():
        if (option, value.strip()) != ("rel", "1"):
            options["threshold" if option == "rel" else option] = value.strip()
    if "relative" in options:
        return []  # which is no measure here
    if function == "rbp" and options.get("p") == "0.8":
        del options["p"]
    written = ", ".join(f"{option}={value}" for option, value in options.items())
    brackets = f"({written})" if written else ""
    measure = f"{function}{brackets}{f'@{cutoff}' if cutoff else ''}"
    return [Call("ir_measures", measure, further)]
