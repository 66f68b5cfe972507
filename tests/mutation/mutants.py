"""The mutants of a C source file: each is one small change that a programmer could have made by mistake.

    mutants.py FILE...      list them

Left out is what no test could tell, or should: comments, strings, preprocessor lines, assertions, log lines, calls that only
free something, the arguments of GLib calls that make an empty array (they are hints of its size), and numbers that give an
allocation more room than it needs, or none where there is nothing: `MAX(n, 1u)`.
"""
import bisect
import dataclasses
import hashlib
import re
import sys

import c_source

# (what it is replaced by, kind)
OPERATORS = {
    "<": [("<=", "relation"), (">=", "relation")],
    "<=": [("<", "relation"), (">", "relation")],
    ">": [(">=", "relation"), ("<=", "relation")],
    ">=": [(">", "relation"), ("<", "relation")],
    "==": [("!=", "relation")],
    "!=": [("==", "relation")],
    "+": [("-", "arithmetic")],
    "-": [("+", "arithmetic")],
    "*": [("/", "arithmetic")],
    "/": [("*", "arithmetic")],
    "%": [("*", "arithmetic")],
    "+=": [("-=", "arithmetic")],
    "-=": [("+=", "arithmetic")],
    "<<": [(">>", "arithmetic")],
    ">>": [("<<", "arithmetic")],
    "&&": [("||", "logic")],
    "||": [("&&", "logic")],
}
WORDS = {
    "MIN": ("MAX", "min-max"),
    "MAX": ("MIN", "min-max"),
    "fmin": ("fmax", "min-max"),
    "fmax": ("fmin", "min-max"),
    "TRUE": ("FALSE", "constant"),
    "FALSE": ("TRUE", "constant"),
    "true": ("false", "constant"),
    "false": ("true", "constant"),
}
NOT_TESTED_CALL = re.compile(r"(g_assert|g_debug|g_warning|g_message|g_critical|g_print|g_clear_|G_STATIC_ASSERT|va_)\w*"
                             r"|free|close|munmap|release|huge_pages_want|\w+_(free|unref|release|close|free_full)|g_free|assert")
HINTS = re.compile(r"sizeof|g_array_new|g_array_sized_new|g_ptr_array_new|g_ptr_array_sized_new|g_byte_array_sized_new"
                   r"|g_string_sized_new|g_hash_table_new|g_ptr_array_new_full|G_N_ELEMENTS|__builtin_expect|g_assert\w*")
ROOM = re.compile(r"g_new0?|g_try_new0?|g_renew|g_malloc0?|g_malloc0?_n|g_try_malloc0?|HUGE_PAGES_NEW|none_rows_new")
ENDS_OF_A_TERM = {"+", "-", ",", ";", ":", "?", "<", ">", "<=", ">=", "==", "!=", "&&", "||", "&", "|", "^", "<<", ">>"}
BEGINS_OF_A_CONDITION = {"=", ",", ";", "?", ":", "return", "+=", "-=", "*=", "|=", "&=", "/="}


@dataclasses.dataclass
class Mutant:
    file: str
    function: str
    kind: str
    begin: int
    end: int
    replacement: str
    line: int
    statement_line: int
    before: str  # the changed lines, their blanks made one
    after: str
    id: str = ""

    def apply(self, text):
        return text[: self.begin] + self.replacement + text[self.end :]


def plain(lines):
    return " ".join(lines.split())


class Finder:
    def __init__(self, file, text):
        self.file, self.text = file, text
        self.source = c_source.Source(text)
        self.tokens = self.source.tokens
        self.digest = hashlib.sha256(text.encode()).hexdigest()
        self.found = []

    def find(self):
        for function in self.source.functions:
            for statement in function.statements:
                self._of_statement(function, statement)
        self.found.sort(key=lambda mutant: (mutant.begin, mutant.end, mutant.replacement))
        return self.found

    def _of_statement(self, function, statement):
        first = self.tokens[statement.begin]
        if statement.kind == "expression" and NOT_TESTED_CALL.fullmatch(first.text):
            return
        self._function, self._statement = function, statement
        self._without_it(statement)
        if statement.kind in ("if", "while"):
            self._negated(statement)
        skip_to = self._room_to = -1
        is_set = False
        for i in range(statement.begin, statement.end):
            token = self.tokens[i]
            is_set |= token.text == "="
            if i < skip_to:
                continue
            if token.kind == "name" and ROOM.fullmatch(token.text) and self.tokens[i + 1].text == "(":
                self._room_to = max(self._room_to, self.source.partner[i + 1])
            if token.kind == "name" and HINTS.fullmatch(token.text) and self.tokens[i + 1].text == "(":
                skip_to = self.source.partner[i + 1]
            elif token.text == "[" and statement.kind == "declaration" and not is_set:
                skip_to = self.source.partner[i]  # how long an array is
            elif token.kind == "number":
                self._constant(i)
            elif token.kind == "name" and token.text in WORDS:
                self._add(token.begin, token.end, *WORDS[token.text])
            elif token.kind == "sign":
                self._sign(i)

    def _without_it(self, statement):
        begin, end = self.tokens[statement.begin].begin, self.tokens[statement.end].end
        leaves = statement.kind in ("return", "break", "continue", "goto") and (statement.depth > 0 or statement.is_alone)
        if leaves or statement.kind == "expression":
            # Lines stay where they are, for coverage and assertions.
            self._add(begin, end, ";" + "\n" * self.text.count("\n", begin, end), "return" if leaves else "statement")

    def _negated(self, statement):
        begin, end = self.tokens[statement.begin + 1].end, self.tokens[statement.end].begin
        if not self._is_simple(statement.begin + 2, statement.end):
            self._add(begin, end, "!(" + self.text[begin:end] + ")", "condition")

    def _is_simple(self, begin, end):
        """Is the condition one whose only comparison or negation, turned round, is the same mutant?"""
        turned = 0
        while begin < end:
            text = self.tokens[begin].text
            if text in ("&&", "||", "?"):
                return False
            turned += text in OPERATORS and OPERATORS[text][0][1] == "relation"
            turned += text == "!"
            begin = self.source.partner[begin] + 1 if text in "([{" else begin + 1
        return turned == 1

    def _constant(self, i):
        token = self.tokens[i]
        is_real = not token.text.lower().startswith("0x") and re.search(r"[.eE]", token.text)
        if is_real:
            value = float(token.text.rstrip("fFlL"))
            self._add(token.begin, token.end, f"({token.text} * 2)" if value else "1.0", "constant")
            return
        is_room = i < self._room_to
        if not self._is_order(i) and not is_room:
            self._add(token.begin, token.end, f"({token.text} + 1)", "constant")
        is_least = is_room and token.text.rstrip("uUlL") == "1" and [one.text for one in self.tokens[i - 1 : i + 2 : 2]] == [",", ")"]
        if token.text.rstrip("uUlL") != "0" and not is_least:
            self._add(token.begin, token.end, f"({token.text} - 1)", "constant")

    def _is_order(self, i):
        """Is the token within `? -1 : 1`, which says which of two is the greater? 2 says the same as 1."""
        around = "".join(token.text for token in self.tokens[max(i - 4, 0) : i + 5])
        return self.tokens[i].text == "1" and re.search(r"\?-1:1[;)]|\?1:-1[;)]", around)

    def _orders_unequal(self, i):
        """Is it the comparison of `if (A != B) return A < B ? -1 : 1;`? A <= B is the same."""
        begin, end = self._statement.begin, self._statement.end
        words = [token.text for token in self.tokens[begin : end]]
        if words[0] != "return" or not self._statement.is_alone or words[-5:] not in (
                ["?", "-", "1", ":", "1"], ["?", "1", ":", "-", "1"]):
            return False
        condition = words[1 : i - begin] + ["!="] + words[i - begin + 1 : -5]
        before = [token.text for token in self.tokens[max(begin - len(condition) - 1, 0) : begin - 1]]
        return before == condition

    def _sign(self, i):
        token = self.tokens[i]
        is_binary = token.space_before and token.space_after
        if token.text in OPERATORS and (is_binary or token.text in ("&&", "||", "==")):
            for replacement, kind in OPERATORS[token.text]:
                if replacement.rstrip("=") == token.text.rstrip("=") and kind == "relation" and self._orders_unequal(i):
                    continue
                self._add(token.begin, token.end, replacement, kind)
        if token.text == "+" and is_binary:
            self._add(token.begin, self._end_of_term(i), "", "dropped")
        elif token.text == "!":
            self._add(token.begin, token.end, "", "condition")
        elif token.text == "?":
            first = self._begin_of_condition(i)
            begin = self.tokens[first].begin
            if not self._is_simple(first, i):
                self._add(begin, token.begin, "!(" + self.text[begin : token.begin].rstrip() + ") ", "condition")

    def _end_of_term(self, i):
        """Where the term ends that is added by the plus at i."""
        i += 1
        while self.tokens[i].text not in ENDS_OF_A_TERM and self.tokens[i].text not in ")]}":
            i = self.source.partner.get(i, i) + 1
        return self.tokens[i - 1].end

    def _begin_of_condition(self, i):
        while i > self._statement.begin:
            previous = self.tokens[i - 1]
            if previous.text in BEGINS_OF_A_CONDITION or previous.text in "([{":
                break
            i = self.source.partner[i - 1] if previous.text in ")]}" else i - 1
        return i

    def _add(self, begin, end, replacement, kind):
        lines_begin = self.text.rfind("\n", 0, begin) + 1
        lines_end = self.text.find("\n", end)
        first = self.tokens[self._statement.begin]
        line = self.tokens[bisect.bisect_left(self.tokens, begin, key=lambda token: token.begin)].line
        after = self.text[lines_begin:begin] + replacement + self.text[end:lines_end]
        mutant = Mutant(self.file, self._function.name, kind, begin, end, replacement, line, first.line,
                        plain(self.text[lines_begin:lines_end]), plain(after))
        name = f"{self.file} {self.digest} {begin} {end} {replacement}"
        mutant.id = hashlib.sha256(name.encode()).hexdigest()[:16]
        self.found.append(mutant)


def mutants_of(file, text):
    return Finder(file, text).find()


if __name__ == "__main__":
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as opened:
            for one in mutants_of(path, opened.read()):
                print(f"{one.line}: {one.function}: {one.kind}\n\t- {one.before}\n\t+ {one.after}")
