"""What was changed, in words, and in which files: from change logs that name files, and from the patches of Debian.

entries(text) reads a change log in the style of GNU, with or without the summary that newer ones have; patch(text) reads one
patch. Both give (description, files). The description has no names of files and no lists of functions, which are what one
would be looking for.
"""
import re

DATE = re.compile(r"^\d{4}-\d\d-\d\d\s+\S.*$", re.M)
NAME = re.compile(r"[\w+./-]+\.[A-Za-z]\w{0,4}(?![\w.])")


def tidy(text):
    text = re.sub(r"^[ \t]*[-+]{2,}[ \t]*$|^\s*(?:Signed-off-by|Reported-by|Co-authored-by|GnuPG-bug-id|Cherry.picked|Fixes-commit|"
                  r"\(cherry|Backported|Regression-due-to|Suggested-by|Thanks|Reviewed-by|Tested-by|Copyright)\b.*$", " ", text, flags=re.M)
    text = re.sub(r"\([\w, .*-]*\)\s*:|<[^>\s]+@[^>\s]+>|https?://\S+|\b[0-9a-f]{10,40}\b", " ", text)
    text = NAME.sub(" ", text)
    return re.sub(r"\s+", " ", re.sub(r"(?<!\w)[*:,]+(?!\w)", " ", text)).strip(" .,:;-")


def cut(text):
    """Before and after the first colon that is in no bracket."""
    depth = 0
    for at, c in enumerate(text[:600]):
        depth += (c in "([") - (c in ")]")
        if c == ":" and depth <= 0:
            return text[:at], text[at + 1:]
    return "", ""


def items(block):
    """[(files, what happened to them)] of the paragraphs that begin with a star."""
    for part in re.split(r"\n(?=[ \t]+\* )", block):
        if part.lstrip().startswith("* "):
            head, what = cut(part.lstrip()[2:])
            names = NAME.findall(re.sub(r"\([^)]*\)|\[[^\]]*\]", " ", head))
            if names:
                yield names, what


def entries(text):
    """An entry is what one person did on one day; paragraphs in it are changes of their own, if it has no summary."""
    heads = list(DATE.finditer(text))
    for head, following in zip(heads, [*heads[1:], None]):
        body = text[head.end():following.start() if following else len(text)].strip("\n")
        summary = re.split(r"\n[ \t]*(?:\n|\+ |\* )", body.lstrip(), maxsplit=1)[0]
        if summary and not summary.startswith("* "):
            files, words = [], [summary]
            for names, what in items(re.sub(r"^([ \t]*)\+ \*", r"\1*", body, flags=re.M)):
                files += names
                words.append(what)
            yield tidy(". ".join(words)), files
            continue
        for paragraph in re.split(r"\n[ \t]*\n", body):
            files, words = [], []
            for names, what in items(paragraph):
                files += names
                words.append(what)
            yield tidy(" ".join(words)), files


def patch(text):
    """Of a patch with a header that says what it is for."""
    start = re.search(r"^(?:--- |diff |Index: )", text, re.M)
    if not start:
        return "", []
    head, diff = text[:start.start()], text[start.start():]
    title = re.search(r"^(?:Subject|Description):[ \t]*([^\n]*\n(?:[ \t]+[^\n]*\n)*)", head, re.M)
    rest = head.split("\n\n", 1)[1] if "\n\n" in head else ""
    rest = re.sub(r"^(?:[A-Z][\w-]+:|---| .*\|\s+\d+|\s*\d+ files? changed|#|=).*$", " ", rest, flags=re.M)
    words = re.sub(r"\[?PATCH[^\]]*\]", " ", (title[1] if title else "") + " . " + rest)
    files = re.findall(r"^\+\+\+ (?:[^/\s]+/)([^\s]+)", diff, re.M)
    return tidy(words), [name for name in files if name != "dev/null"]
