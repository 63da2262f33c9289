"""A diagnosis as plain lines: the causes first, then what was checked and found in order."""

from gantune.records.diagnosis import CheckedLeaf, Diagnosis


def diagnosis_text(diagnosis: Diagnosis) -> str:
    """Write each symptom with its causes, evidence and answers, then the checks that found nothing."""
    lines = [f"{diagnosis.subject} ({diagnosis.kind})"]
    if not diagnosis.causes and not diagnosis.symptoms:
        lines.append(f"nothing wrong: {len(diagnosis.leaves)} checks found nothing")
    for symptom in diagnosis.symptoms:
        causes = [leaf for leaf in diagnosis.causes if leaf.symptom == symptom]
        lines += ["", symptom]
        if not causes:
            lines.append("  no check found the cause; the report gives each candidate's own reason")
        lines += [line for leaf in causes for line in _tell(leaf)]
    quiet = [leaf.name for leaf in diagnosis.leaves if not leaf.is_cause]
    if quiet:
        lines += ["", f"also checked, and found nothing: {', '.join(quiet)}"]
    return "\n".join(lines)


def _tell(leaf: CheckedLeaf) -> list[str]:
    return [f"  {leaf.question}", f"    found   {leaf.found}", f"    answer  {leaf.answer}"]
