"""Predictions of every case from all its recordings, by `tacho replay`, and what they are made of."""

import json
import subprocess

PARTS = ("compute", "communication", "host", "wait")


def replay(tacho, runs, what_ifs=()):
    """What `tacho replay --json` answers, or {"error": ...}."""
    changes = [word for change in what_ifs for word in ("--what-if", change)]
    done = subprocess.run([tacho, "replay", *runs, *changes, "--json"],
                          capture_output=True, text=True)
    if done.returncode != 0:
        return {"error": done.stderr.strip()}
    return json.loads(done.stdout)


def changes_between(source, target, links_mbit):
    """The what-ifs that make `target` of `source`. Bandwidth is relative, for what a link carries is
    less than its rate; so it is by what both links were seen to carry, `links_mbit`, or their rates where that
    was not measured. Latency is what is added."""
    what_ifs = []
    if target.ranks != source.ranks:
        what_ifs.append(f"ranks={target.ranks}")
    if target.rate_mbit != source.rate_mbit:
        rates = links_mbit if all(links_mbit) else (source.rate_mbit, target.rate_mbit)
        what_ifs.append(f"bandwidth={rates[1] / rates[0]:.4g}x")
    if target.latency_ms > source.latency_ms:
        what_ifs.append(f"latency=+{target.latency_ms - source.latency_ms:g}ms")
    elif target.latency_ms < source.latency_ms:
        what_ifs.append(f"latency={target.latency_ms:g}ms")
    if target.bucket_mb != source.bucket_mb:
        what_ifs.append(f"bucket_mb={target.bucket_mb:g}")
    return what_ifs


def path_parts(answer):
    """Milliseconds of the critical path by what they are: where a step's time goes, across ranks."""
    parts = dict.fromkeys(PARTS, 0.0)
    for row in answer.get("path_summary", []):
        parts[row["what"]] = parts.get(row["what"], 0.0) + row["duration_ms"]
    return {what: round(ms, 3) for what, ms in parts.items()}


def recording_rows(answer):
    """What each recording says by itself: `tacho replay --json` tells so only where there are several."""
    if "recordings" in answer:
        return answer["recordings"]
    low_ms, high_ms = answer["steps_interval_ms"]
    return [{**answer, "low_ms": low_ms, "high_ms": high_ms, "is_shown": True}]


def shown_recording(answer):
    """The recording whose critical path the answer has."""
    return next(row for row in recording_rows(answer) if row["is_shown"])


class Predictor:
    """Replays recordings of `results`; each unchanged case once."""

    def __init__(self, results, tacho):
        self.results = results
        self.tacho = tacho
        self.own = {}

    def replay_own(self, case):
        if case not in self.own:
            self.own[case] = replay(self.tacho, self.results.all_recorded_runs(case))
        return self.own[case]

    def predict(self, source, target):
        """A row of predictions.json: `target` from the recordings of `source`, which may be the same."""
        own = self.replay_own(target)
        what_ifs = changes_between(source, target,
                                   [self.results.link_mbit(case) for case in (source, target)])
        answer = replay(self.tacho, self.results.all_recorded_runs(source), what_ifs) \
            if source != target else own
        row = {"case": target.name, "source": source.name, "what_ifs": what_ifs}
        if "error" in answer:
            return {**row, "error": answer["error"]}
        row.update(predicted_ms=round(answer["predicted_step_ms"], 4),
                   interval_ms=[round(bound, 4) for bound in answer["steps_interval_ms"]],
                   recordings=[{key: round(recording[key], 4)
                                for key in ("predicted_step_ms", "low_ms", "high_ms")}
                               for recording in recording_rows(answer)],
                   parts_ms=path_parts(answer),
                   source_recorded_ms=round(answer["measured_step_ms"], 4))
        if "recordings" in answer:
            row.update(recordings_interval_ms=[round(bound, 4) for bound in answer["recordings_interval_ms"]],
                       recordings_median_pct=answer["recordings_median_pct"])
        if "error" not in own:
            shown = shown_recording(own)
            row.update(own_recorded_ms=round(shown["measured_step_ms"], 4),
                       own_replayed_ms=round(shown["unrecorded_step_ms"], 4),
                       own_parts_ms=path_parts(own))
        return row


def predict_all(results, tacho, models, is_full):
    """Each case from its own recordings, and from another's: both sets whole."""
    predictor = Predictor(results, tacho)
    predictions = []
    for model in models.values():
        cases = model.cases(is_full)
        predictions += [predictor.predict(case, case) for case in cases]
        predictions += [predictor.predict(model.source(case, cases), case) for case in cases]
    return predictions
