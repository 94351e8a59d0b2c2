"""Run doubling attacks on the parsers of source code, to find time that grows faster than file size.

    python -m benchmarks.source_attacks [--all] [--kb KB] [LANGUAGE …] [=ATTACK …]

Each attack repeats or nests one construct up to KB, 2 × KB and 4 × KB kilobytes (128 by default). The table shows the
CPU time of parsing and of each indexer's extraction at the largest size, and the growth over the last doubling: 2 is
linear, 4 is quadratic. Without `--all` only attacks that look superlinear, fail, or take more than 50 ms per KB are
shown. The exit status is 1 if there are any.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from deltos.domains.code.index import CodeIndexer
from deltos.domains.graph.index import GraphIndexer
from deltos.languages.grammar import parse, self_test
from deltos.languages.table import LANGUAGES, Language, language
from deltos.workspace.indexer import ParsedFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LIMIT_SECONDS = 30
MAX_LINEAR_GROWTH = 2.8
MIN_COMPARED_SECONDS = 0.25
SLOW_SECONDS_PER_KB = 0.05

Repeated = tuple[str, str, str]
"""Beginning, repeated part (`@` is replaced by the number of the repetition), and middle; a fourth part is repeated
after the middle to close the opened constructs."""

COMMON_ATTACKS: dict[str, tuple[str, ...]] = {
    "parentheses, never closed": ("", "("),
    "brackets, never closed": ("", "["),
    "braces, never closed": ("", "{"),
    "angles, never closed": ("", "<"),
    "closing parentheses": ("", ")"),
    "closing braces": ("", "}\n"),
    "nested parentheses": ("x = ", "(", "1", ")"),
    "nested brackets": ("x = ", "[", "1", "]"),
    "nested braces": ("", "{", "", "}"),
    "double quotes": ("", '"'),
    "single quotes": ("", "'"),
    "back ticks": ("", "`"),
    "double quotes, lines": ("", '"\n'),
    "backslashes": ("", "\\"),
    "line continuations": ("", "\\\n"),
    "blank lines": ("a", "\n", "a"),
    "blanks": ("a", " ", "a"),
    "tabs and newlines": ("a", "\t\n", "a"),
    "carriage returns": ("a", "\r", "a"),
    "one long word": ("", "a"),
    "one line of words": ("", "ab "),
    "names on lines": ("", "name@\n"),
    "dotted names": ("a", ".b"),
    "chained calls": ("x = a", ".b()"),
    "colons": ("a", "::b"),
    "additions": ("x = 1", " + a"),
    "subtractions, parenthesised": ("x = ", "(a - ", "1", ")"),
    "commas": ("f(", "a, ", ")"),
    "semicolons": ("", ";"),
    "at signs": ("", "@a\n"),
    "hashes": ("", "#\n"),
    "stars": ("", "*"),
    "slashes": ("", "/"),
    "less than signs": ("", "a < "),
    "block comment of newlines": ("/*", "\n", "*/\nint x;"),
    "block comment of stars": ("/*", "*\n", "*/\nint x;"),
    "comment never closed": ("/*", " *\n"),
    "comment openings": ("", "/* "),
    "line comments": ("", "// c\n", "int x;"),
    "hash comments": ("", "# c\n", "x = 1"),
    "dash comments": ("", "-- c\n", "x = 1"),
    "if ladder": ("", "if (a) { } else "),
    "if nested": ("", "if (a) { ", "", "}"),
    "NUL": ("", "\0a"),
    "euro signs": ("", "€ "),
}
"""Attacks by name: beginning, repeated part, middle, and a closing part that is repeated as often."""

PYTHON_ATTACKS = {
    "statements": ("def f():\n", "    x@ = g(@)\n"),
    "assignments of one name": ("", "x = @\n"),
    "attributes of self": ("class A:\n  def f(self):\n", "    self.a@ = @\n"),
    "one attribute of self": ("class A:\n  def f(self):\n", "    self.a = @\n"),
    "functions": ("", "def f@(a): return a\n"),
    "functions of one name": ("", "def f(a): return a\n"),
    "methods": ("class A:\n", "  def f@(self): return self\n"),
    "classes": ("", "class A@(B): pass\n"),
    "imports": ("", "import a@\n"),
    "from imports": ("", "from a import b@\n"),
    "one from import": ("from a import (", "b@, ", ")"),
    "one import": ("import a", ", b@"),
    "decorators": ("", "@a\n", "def f(): pass\n"),
    "decorators with calls": ("", "@a(b)\n", "def f(): pass\n"),
    "comments above": ("", "# c\n", "def f(): pass\n"),
    "elif": ("if a: pass\n", "elif b@: pass\n"),
    "nested if, one line": ("", "if a:\n "),
    "nested else": ("x = ", "a if b else ", "c"),
    "nested lambda": ("x = ", "lambda: ", "c"),
    "not": ("x = ", "not ", "c"),
    "await": ("x = ", "await ", "c"),
    "unary": ("x = ", "-", "c"),
    "power": ("x = a", " ** a"),
    "and": ("x = a", " and a"),
    "and or": ("x = a", " and a or a"),
    "mixed operators": ("x = a", " + a * a - a"),
    "comparisons": ("x = a", " < a"),
    "subscripts": ("x = a", "[0]"),
    "subscripts nested": ("x = ", "a[", "0", "]"),
    "calls": ("x = a", "()"),
    "calls nested": ("x = ", "a(", "0", ")"),
    "attributes": ("x = a", ".b"),
    "generic annotation": ("x: ", "list[", "int", "]"),
    "union annotation": ("x: a", " | b@"),
    "union annotation in a string": ('x: "a', " | b@", '"'),
    "nested annotation in a string": ('x: "', "list[", "a", "]", '"'),
    "quoted annotations": ("", 'x@: "a"\n'),
    "quoted annotations nested": ("x: ", "A['B[", "1", "]']"),
    "assignment chain": ("", "a@ = ", "1"),
    "tuple targets": ("", "a@, ", " = f()"),
    "nested targets": ("", "(a, ", "b", ")", " = f()"),
    "star targets": ("", "*a@, ", " = f()"),
    "with items": ("with ", "a@ as b@, ", "c: pass"),
    "with m, backslash": ("", "with m, \\\n", "n: pass"),
    "nested with": ("", "with a:\n "),
    "except": ("try: pass\n", "except A@ as e: pass\n"),
    "cases": ("match a:\n", "  case B@(x): pass\n"),
    "case union": ("match a:\n  case A", " | B@", ": pass\n"),
    "case nested": ("match a:\n  case ", "A(", "x", ")", ": pass\n"),
    "comprehension clauses": ("x = [a", " for a in b", "]"),
    "comprehension ifs": ("x = [a for a in b", " if a", "]"),
    "comprehensions nested": ("x = ", "[a for a in ", "b", "]"),
    "f-strings nested": ("x = ", "f'{", "a", "}'"),
    "f-string fields": ("x = f'", "{a}", "'"),
    "strings adjacent": ("x = (", "'a'\n", ")"),
    "string huge": ("x = '", "abc ", "'"),
    "string never closed": ("x = '''", "abc\n"),
    "docstring huge": ("def f():\n  '''", "abc\n", "'''\n"),
    "dict": ("x = {", "'a@': b, ", "}"),
    "dicts nested": ("x = ", "{'a': ", "b", "}"),
    "keyword arguments": ("f(", "a@=b, ", ")"),
    "parameters": ("def f(", "a@=b, ", "): pass"),
    "parameters annotated": ("def f(", "a@: int = b, ", "): pass"),
    "lambda parameters": ("f = lambda ", "a@, ", "b: 1"),
    "nested functions": ("", "def f():\n "),
    "nested functions, indented": ("", "INDENTdef f@():\n", "INDENTpass\n"),
    "nested classes, indented": ("", "INDENTclass A@:\n", "INDENTpass\n"),
    "nested ifs, indented": ("", "INDENTif a:\n", "INDENTpass\n"),
    "bases": ("class A(", "B@, ", "): pass"),
    "global": ("def f():\n  global ", "a@, ", "b\n"),
    "globals": ("def f():\n", "  global a@\n"),
    "del": ("del ", "a@, ", "b\n"),
    "__all__": ("__all__ = [", "'a@', ", "]"),
    "__all__ +=": ("", "__all__ += ['a@']\n"),
    "walrus": ("x = ", "(a@ := ", "1", ")"),
    "yields": ("def f():\n", "  yield @\n"),
    "returns": ("def f():\n", "  return a@\n"),
    "type aliases": ("", "type A@ = int\n"),
    "star imports": ("", "from a@ import *\n"),
    "relative dots": ("from ", ".", " import a"),
    "broken definitions": ("", "def f(:\n"),
    "broken classes": ("", "class (:\n"),
    "print statements": ("", "print a@\n"),
    "semicolon statements": ("", "a@; "),
    "async": ("", "async "),
    "augmented": ("", "x += a@\n"),
    "isinstance chain": ("x = ", "isinstance(a, B@) and ", "c"),
    "isinstance if": ("def f(a):\n", "  if isinstance(a, B@): a.c\n"),
    "use before": ("", "a@.b@.c@()\n"),
    "tuple to tuple": ("", "a@, ", " = " + "b, " * 4000 + "c"),
    "for tuple": ("for ", "a@, ", "b in c: pass"),
    "assignment chain of a list": ("", "a@ = ", "[" + "b, " * 4000 + "]"),
    "attribute chain": ("class A:\n  def f(self):\n    ", "self.a@ = ", "[" + "b, " * 4000 + "]"),
    "comments in parameters": ("def f(a", " #\n", ": int = 1): pass"),
    "comments in a call": ("f(", "#\n", "a)"),
    "continuations": ("x = 1", " + \\\n a"),
    "star expressions": ("x = [", "*a@, ", "]"),
    "dict splats": ("x = {", "**a@, ", "}"),
    "functions with defaults": ("", "def f@(a=b@, *, c: int = d) -> e: return a\n"),
    "methods of many classes": ("", "class A@:\n  def f(self): self.x = 1\n"),
    "keys of one name": ("class A:\n", "  x = @\n"),
    "chained with calls": ("x = a", ".b(lambda c: c)", ""),
}
ECMASCRIPT_ATTACKS = {
    "jsdoc import newlines": ("/** @import", "\n", "*/\nlet x;"),
    "jsdoc imports": ("/** ", "@import a ", "*/\nlet x;"),
    "jsdoc import blanks": ("/** @import a", " ", "*/\nlet x;"),
    "jsdoc import from": ("/** @import a", " from", "*/\nlet x;"),
    "jsdoc import names": ("/** @import {", "a@ as b, ", "} from 'x' */\nlet x;"),
    "jsdoc typedef braces": ("/** ", "@typedef {", " */\nlet x;"),
    "jsdoc typedefs": ("/** ", "@typedef {A@} B@\n", " */\nlet x;"),
    "jsdoc typedef properties": ("/** @typedef {Object} A\n", " * @property {B@} c@\n", " */\nlet x;"),
    "jsdoc typedefs and properties": ("/** ", " * @typedef {Object} A@\n * @property {B} c\n", " */\nlet x;"),
    "jsdoc type braces": ("/** ", "@type {", " */\nlet x;"),
    "jsdoc type nested": ("/** @type {", "Array<", "a", ">", "} */\nlet x;"),
    "jsdoc type parens": ("/** @type {", "(", "a", ")", "} */\nlet x;"),
    "jsdoc type objects": ("/** @type {", "{a:", "a", "}", "} */\nlet x;"),
    "jsdoc type functions": ("/** @type {", "(a:", "a", ")=>b", "} */\nlet x;"),
    "jsdoc type union": ("/** @type {a", "|b@", "} */\nlet x;"),
    "jsdoc type import": ("/** @type {", "import(", "} */\nlet x;"),
    "jsdoc type import blanks": ("/** @type {import(", " ", "} */\nlet x;"),
    "jsdoc type quotes": ("/** @type {", "' ", "} */\nlet x;"),
    "jsdoc type dots": ("/** @type {", "...", "a} */\nlet x;"),
    "jsdoc type names": ("/** @type {a", ".b", "} */\nlet x;"),
    "jsdoc type names, blanks": ("/** @type {a", " ", ":} */\nlet x;"),
    "jsdoc type stars": ("/** @type {\n", " * \n", "} */\nlet x;"),
    "jsdoc params": ("/**\n", " * @param {a@} b@ c\n", " */\nfunction f() {}"),
    "jsdoc links": ("/** ", "{@link a@.b} ", "*/\nlet x;"),
    "jsdoc link dots": ("/** {@link a", ".b", "} */\nlet x;"),
    "jsdoc link blanks": ("/** ", "{@link ", "*/\nlet x;"),
    "jsdoc see newlines": ("/** @see", "\n", "*/\nlet x;"),
    "jsdoc tag newlines": ("/** ", "@a\n", "*/\nlet x;"),
    "jsdoc type newlines": ("/** @type", "\n", "*/\nlet x;"),
    "jsdoc extends": ("/** ", "@extends a\n", "*/\nlet x;"),
    "jsdoc extends one line": ("/** ", "@extends a ", "*/\nlet x;"),
    "jsdoc openings": ("", "/** "),
    "jsdoc openings closed": ("", "/** @type {a} */ (x);\n"),
    "jsdoc comments": ("", "/** @type {A@} */\nlet x@;\n"),
    "jsdoc casts": ("x = ", "/** @type {A} */ (", "a", ")"),
    "comment of newlines": ("/*", "\n", "*/\nfunction f() {}"),
    "comment of blanks": ("/*", " ", "*/\nfunction f() {}"),
    "comment of stars and newlines": ("/**", "\n *", "*/\nfunction f() {}"),
    "comment of slashes": ("/**", "\n//", "*/\nfunction f() {}"),
    "comment of tags": ("/**", "\n @", "*/\nfunction f() {}"),
    "comments above": ("", "// c\n", "function f() {}"),
    "doc comments above": ("", "/** c */\n", "function f() {}"),
    "statements": ("function f() {\n", "  const x@ = g(@);\n", "}"),
    "lets": ("", "let x@ = @;\n"),
    "lets of one name": ("", "let x = @;\n"),
    "vars in a function": ("function f() {\n", "  var x@ = @;\n", "}"),
    "one var": ("var a", ", x@ = @"),
    "exports": ("", "export const x@ = @;\n"),
    "export list": ("export {", "a@, ", "};"),
    "export stars": ("", "export * from './a@';\n"),
    "module.exports": ("", "module.exports.a@ = @;\n"),
    "exports of one name": ("", "exports.a = @;\n"),
    "exports chain": ("", "exports.a@ = ", "1;"),
    "assignment chain": ("", "a@ = ", "1;"),
    "prototypes": ("function A() {}\n", "A.prototype.b@ = function() {};\n"),
    "prototypes of one name": ("function A() {}\n", "A.prototype.b = function() {};\n"),
    "expandos": ("function A() {}\n", "A.b@ = @;\n"),
    "this members": ("class A { constructor() {\n", "this.a@ = @;\n", "} }"),
    "this member": ("class A { constructor() {\n", "this.a = @;\n", "} }"),
    "functions": ("", "function f@() {}\n"),
    "functions of one name": ("", "function f() {}\n"),
    "functions nested": ("", "function f@() { ", "", "}"),
    "functions of one name nested": ("", "function f() { ", "", "}"),
    "arrows": ("x = ", "a => ", "b"),
    "arrows nested": ("x = ", "(a) => (", "b", ")"),
    "immediately called": ("", "(function() { ", "", "})();\n"),
    "callbacks": ("", "f(() => { ", "", "});\n"),
    "classes": ("", "class A@ extends B {}\n"),
    "classes of one name": ("", "class A {}\n"),
    "classes nested": ("", "class A { static a = ", "1", "}"),
    "methods": ("class A {\n", "  f@() {}\n", "}"),
    "methods of one name": ("class A {\n", "  f() {}\n", "}"),
    "fields": ("class A {\n", "  f@ = @;\n", "}"),
    "getters": ("class A {\n", "  get f@() { return 1; }\n", "}"),
    "computed": ("class A {\n", "  [f@]() {}\n", "}"),
    "imports": ("", "import a@ from './a@';\n"),
    "imports of one module": ("", "import {a@} from './a';\n"),
    "one import": ("import {", "a@, ", "} from './a';\n"),
    "requires": ("", "const a@ = require('./a@');\n"),
    "require destructured": ("const {", "a@, ", "} = require('./a');\n"),
    "dynamic imports": ("", "import('./a@');\n"),
    "objects": ("x = {", "a@: @, ", "};"),
    "objects nested": ("x = ", "{a: ", "1", "}"),
    "object methods": ("x = {", "a@() {}, ", "};"),
    "spread objects": ("x = {", "...a@, ", "};"),
    "arrays": ("x = [", "a@, ", "];"),
    "destructuring": ("const {", "a@, ", "} = x;"),
    "destructuring nested": ("const ", "{a: ", "b", "}", " = x;"),
    "destructuring arrays": ("const ", "[", "b", "]", " = x;"),
    "destructuring array": ("const [", "a@, ", "] = x;"),
    "destructuring defaults": ("const {", "a@ = b@, ", "} = x;"),
    "parameters": ("function f(", "a@, ", "b) {}"),
    "parameters destructured": ("function f(", "{a@}, ", "b) {}"),
    "arguments": ("f(", "a@, ", "b);"),
    "templates": ("x = ", "`${", "a", "}`"),
    "template fields": ("x = `", "${a}", "`;"),
    "template huge": ("x = `", "abc\n", "`;"),
    "template never closed": ("x = `", "abc${a}\n"),
    "ternaries": ("x = ", "a ? b : ", "c;"),
    "ternaries nested": ("x = ", "a ? ", "c", " : b"),
    "or": ("x = a", " || a@"),
    "and": ("x = a", " && a@"),
    "coalesce": ("x = a", " ?? a@"),
    "equals": ("x = a", " === a"),
    "comma expressions": ("x = (a", ", a@", ");"),
    "optional chain": ("x = a", "?.b@"),
    "subscripts": ("x = a", "[0]"),
    "subscripts nested": ("x = ", "a[", "0", "]"),
    "calls": ("x = a", "()"),
    "calls nested": ("x = ", "a(", "0", ")"),
    "new": ("x = ", "new ", "A;"),
    "not": ("x = ", "!", "a;"),
    "typeof": ("x = ", "typeof ", "a;"),
    "await": ("x = ", "await ", "a;"),
    "if else": ("", "if (a@) {} else ", "{}"),
    "if else, statements": ("", "if (a) b(); else ", "c();"),
    "if typeof": ("", "if (typeof a === 'string') {} else ", "{}"),
    "ifs returning": ("function f(a) {\n", "if (!a@) return;\n", "}"),
    "ifs narrowing": ("function f(a) {\n", "if (a instanceof B@) a.b();\n", "}"),
    "blocks": ("", "{", "", "}"),
    "for nested": ("", "for (;;) ", ";"),
    "while nested": ("", "while (a) {", "", "}"),
    "try nested": ("", "try {", "", "} catch {}"),
    "try catch": ("", "try {} catch (e) {} \n"),
    "switch cases": ("switch (a) {", "case @: b();\n", "}"),
    "switch nested": ("", "switch (a) { case 1: ", "", "}"),
    "labels": ("", "a: ", ";"),
    "regexes": ("", "x = /a/;\n"),
    "regex never closed": ("x = /", "[a"),
    "html comments": ("", "<!-- a\n"),
    "strings added": ("x = ''", " + 'a'"),
    "string never closed": ("x = '", "abc\\\n"),
    "use": ("", "a@.b@.c@();\n"),
    "local shadowing": ("let a;", "{ let a = a; ", "", "}"),
    "generators": ("function* f() {", "yield a@;\n", "}"),
    "yield nested": ("function* f() { x = ", "yield ", "a }"),
    "define properties": ("", "Object.defineProperty(exports, 'a@', {});\n"),
    "assign": ("Object.assign(a", ", {b@: 1}", ");"),
    "then": ("p", ".then(x => x)", ";"),
    "then on lines": ("p\n", ".then((x, y) => { return x.a(y); })\n", ";"),
    "function arguments": ("f(", "a => a, ", "b);"),
    "function arguments nested": ("", "f(a => b, c => ", "d", ")"),
    "guards": ("function f(a) {\n", "if (!a.f(a)) return;\n", "}"),
    "guards and": ("x = ", "a.f(a) && ", "b;"),
    "guards ternary": ("x = ", "a.f(a) ? ", "b", " : a"),
    "assert": ("function f(a) {\n", "a.assert(a.b(a));\n", "}"),
    "default patterns": ("const ", "{a: ", "b", " = x => x}", " = z;"),
    "default parameters": ("f(", "({a = x => x}) => ", "b);"),
    "vars in blocks": ("function f() {\n", "{ var a@; }\n", "}"),
    "vars in one block": ("function f() { if (a) {\n", "var a@;\n", "} }"),
    "for var": ("function f() {\n", "for (var a@ of b) {}\n", "}"),
    "narrowed values": ("function f() {\n", "if (!(a@ instanceof B)) return;\n", "}"),
    "narrowed and assigned": ("function f(a) {\n", "if (!(a@ instanceof B)) return; a@ = 1;\n", "}"),
    "or assign": ("x = ", "a ||= ", "y => y;"),
    "comment over many": ("/** @type {a} ", "b\n", "*/\nvar c = 1" + ", d = 2" * 2000 + ";"),
    "returns": ("function f() {\n", "if (a) return b@;\n", "}"),
    "methods chained with objects": ("p", ".then({a: x => x, b: 1})", ";"),
    "new nested": ("x = ", "new A(", "", ")"),
    "object getters": ("x = {", "get a@() { return 1 }, ", "}"),
    "deep members": ("", "a.b.c.d.e.f.g.h.i.j.k@;\n"),
}
TYPESCRIPT_ATTACKS = {
    "union": ("type A = a", " | B@", ";"),
    "union, leading": ("type A =", "\n | B@", ";"),
    "union of strings": ("type A = 'a'", " | 'b@'", ";"),
    "union of objects": ("type A = a", " | {b: @}", ";"),
    "intersection": ("type A = a", " & B@", ";"),
    "generics nested": ("type A = ", "B<", "c", ">", ";"),
    "generics": ("type A = B<", "c@, ", "d>;"),
    "arrays of arrays": ("type A = b", "[]", ";"),
    "indexed": ("type A = b", "['c']", ";"),
    "tuples nested": ("type A = ", "[", "b", "]", ";"),
    "parenthesised types": ("type A = ", "(", "b", ")", ";"),
    "function types": ("type A = ", "(a: b) => ", "c;"),
    "function types nested": ("type A = ", "(a: ", "c", ") => d", ";"),
    "object types nested": ("type A = ", "{a: ", "b", "}", ";"),
    "object type": ("type A = {", "a@: b;\n", "};"),
    "conditional types": ("type A = ", "a extends b ? c : ", "d;"),
    "conditional types nested": ("type A = ", "a extends b ? ", "d", " : c", ";"),
    "keyof": ("type A = ", "keyof ", "b;"),
    "mapped": ("type A = ", "{[K in ", "b", "]: c}", ";"),
    "template types": ("type A = ", "`${", "b", "}`", ";"),
    "typeof": ("type A = typeof a", ".b", ";"),
    "import types": ("", "type A@ = import('./a@').B;\n"),
    "type aliases": ("", "type A@ = B@;\n"),
    "type aliases of one name": ("", "type A = B@;\n"),
    "type alias chain": ("", "type A@ = A@[];\n"),
    "interfaces": ("", "interface A@ { b: c }\n"),
    "interfaces of one name": ("", "interface A { b@: c }\n"),
    "interface members": ("interface A {\n", "  a@: b;\n", "}"),
    "interface methods": ("interface A {\n", "  a(b: c@): d;\n", "}"),
    "interface members without semicolon": ("interface A {\n", "  a@: b\n", "}"),
    "call signatures": ("interface A {\n", "  (a: b@): c\n", "}"),
    "call signatures after comments": ("interface A {\n", "  // c\n", "  (a: b): c\n}"),
    "call signatures after block comments": ("interface A {\n", "  /* c */\n", "  (a: b): c\n}"),
    "extends": ("interface A extends a", ", B@", " {}"),
    "implements": ("class A implements a", ", B@", " {}"),
    "type parameters": ("type A<", "T@ extends B, ", "T> = c;"),
    "variance": ("interface A<", "in out T@, ", "T> {}"),
    "variance blanks": ("interface A<", "\n", "in T> {"),
    "variance in": ("interface A<\nin", " ", "T {"),
    "variance in T": ("interface A<\nin T", " ", "{"),
    "variance lines": ("<", "\nin T ", "{"),
    "signature lines": ("interface A {", "\n  (a", "{"),
    "signature blanks": ("interface A {\n", " ", "(a {"),
    "signature parens": ("interface A {\n (", "a, ", "{"),
    "signature newlines": ("interface A {\n (", "\n ", "{"),
    "enums": ("enum A {", "b@ = @, ", "}"),
    "enum": ("", "enum A@ {b}\n"),
    "namespaces nested": ("", "namespace A { ", "", "}"),
    "namespaces": ("", "namespace A { export const b@ = 1; }\n"),
    "namespaces dotted": ("namespace A", ".B", " {}"),
    "declare modules": ("", "declare module 'a@' {}\n"),
    "declare globals": ("", "declare global { var a@: b; }\n"),
    "overloads": ("", "function f(a: b@): c;\n"),
    "overloaded methods": ("class A {\n", "f(a: b@): c;\n", "}"),
    "as": ("x = a", " as b@", ";"),
    "satisfies": ("x = a", " satisfies b@", ";"),
    "non-null": ("x = a", "!", ";"),
    "angle casts": ("x = ", "<a>", "b;"),
    "type arguments": ("x = f<", "a@, ", "b>();"),
    "decorators": ("", "@a\n", "class A {}"),
    "decorators called": ("", "@a(b)\n", "class A {}"),
    "member decorators": ("class A {", "@a ", "b() {} }"),
    "parameter properties": ("class A { constructor(", "private a@: b, ", ") {} }"),
    "predicates": ("", "function f@(a: any): a is B { return true; }\n"),
    "asserts": ("", "assert(a@);\n"),
    "annotated": ("", "let x@: A@ = y;\n"),
    "broken interface": ("interface A {", "a: ,\n"),
    "broken types": ("type A = ", "< ", ";"),
    "abstract": ("", "abstract class A@ { abstract b(): c }\n"),
    "constraints": ("type A<T", ", T@ extends [T, T]", "> = c;"),
    "constraints doubling": ("type A<", "T@, ", "T> = c;"),
    "mapped constraints": ("type A = ", "{[K in K | K]: ", "b", "}", ";"),
    "dotted types": ("type A = B", ".C", ";"),
    "interface overloads": ("interface A {\n", "a(b: c): d;\n", "}"),
    "functions with generics": ("", "function f@<T extends U>(a: T): T { return a; }\n"),
    "infer": ("type A = ", "B extends infer C ? ", "D", ": E", ";"),
}
JSX_ATTACKS = {
    "elements nested": ("x = ", "<a>", "b", "</a>", ";"),
    "elements": ("x = <a>", "<b/>", "</a>;"),
    "elements, lines": ("x = <a>\n", "<B@ c={d}/>\n", "</a>;"),
    "attributes": ("x = <a ", "b@={c} ", "/>;"),
    "expressions nested": ("x = ", "<a>{", "b", "}</a>", ";"),
    "fragments": ("x = ", "<>", "b", "</>", ";"),
    "never closed": ("x = ", "<a>"),
    "never closed, lines": ("x = ", "<a b={\n"),
    "member names": ("x = <a", ".b", "/>;"),
    "components": ("", "const A@ = () => <b/>;\n"),
    "text": ("x = <a>", "b c\n", "</a>;"),
    "components nested": ("", "function A@() { ", "<a/>", "}"),
}
BRACED_LANGUAGE_ATTACKS = {
    "functions": ("", "void f@() { g(); }\n"),
    "functions of one name": ("", "void f() { g(); }\n"),
    "calls": ("void f() {\n", "  g@(a);\n", "}"),
    "variables": ("void f() {\n", "  int a@ = b;\n", "}"),
    "classes": ("", "class A@ { void f() {} }\n"),
    "methods": ("class A {\n", "  void f@() {}\n", "}"),
    "fields": ("class A {\n", "  int a@;\n", "}"),
    "classes nested": ("", "class A { ", "", "}"),
    "functions nested": ("", "void f() { ", "", "}"),
    "blocks in a function": ("void f() ", "{", "", "}"),
    "calls nested": ("void f() { ", "g(", "1", ")", "; }"),
    "chain in a function": ("void f() { a", ".b()", "; }"),
    "additions in a function": ("void f() { x = a", " + a", "; }"),
    "parentheses in a function": ("void f() { x = ", "(", "a", ")", "; }"),
    "parameters": ("void f(", "int a@, ", "int b) {}"),
    "if else in a function": ("void f() {", "if (a) {} else ", "{} }"),
    "cases": ("void f() { switch (a) {", "case @: b();\n", "} }"),
    "generics": ("A", "<B", " a;", ">"),
    "comments above": ("", "// c\n", "void f() {}"),
    "annotations": ("", "@A\n", "class B {}"),
    "annotations with arguments": ("", "@A(b)\n", "class B {}"),
    "attributes": ("", "[A]\n", "class B {}"),
    "imports": ("", "import a.b@;\n"),
    "usings": ("", "using a.b@;\n"),
    "includes": ("", '#include "a@.h"\n'),
    "defines": ("", "#define A@ b\n"),
    "ifdefs": ("", "#ifdef A\n", "int x;\n", "#endif\n"),
    "macros": ("", "NAMESPACE_BEGIN\n"),
    "macro words": ("", "AAAA "),
    "macro blanks": ("AAAA", " ", "x"),
    "macro calls": ("", "AAAA(b)\n", "int x;"),
    "macro class": ("class ", "AAAA ", "B {};"),
    "macro class generics": ("class AAAA B<", "a, ", "{"),
    "macro class blanks": ("class AAAA B", " ", "x"),
    "macro classes": ("", "class AAAA B<\n"),
    "templates": ("", "template <class T> ", "void f() {}"),
    "namespaces": ("", "namespace a { ", "", "}"),
    "strings": ("", 'string a@ = "b";\n'),
    "enums": ("enum A {", "b@, ", "}"),
    "lambdas": ("x = ", "() -> ", "1;"),
    "bases": ("class A : ", "B@, ", "C {};"),
    "declarators": ("int a", ", b@", ";"),
    "pointers": ("int ", "*", "a;"),
    "arrays": ("int a", "[1]", ";"),
}
LANGUAGE_ATTACKS = {
    "go": {
        "imports": ("package a\nimport (\n", '"b/c@"\n', ")\n"),
        "functions": ("package a\n", "func f@() {}\n"),
        "methods": ("package a\n", "func (a *A) f@() {}\n"),
        "calls": ("package a\nfunc f() {\n", "a.B@()\n", "}\n"),
        "structs": ("package a\n", "type A@ struct { b int }\n"),
        "fields": ("package a\ntype A struct {\n", "b@ C\n", "}\n"),
        "structs nested": ("package a\ntype A ", "struct { b ", "int", "}"),
        "pointers": ("package a\nvar a ", "*", "A"),
        "slices": ("package a\nvar a ", "[]", "A"),
        "literals nested": ("package a\nvar a = ", "A{", "", "}"),
        "short variables": ("package a\nfunc f() {\n", "a@ := b@()\n", "}\n"),
        "chain": ("package a\nfunc f() { a", ".b()", "}\n"),
        "closures": ("package a\nvar a = ", "func() { ", "", "}"),
        "comments": ("package a\n", "// c\n", "func f() {}\n"),
        "else if": ("package a\nfunc f() { ", "if a {} else ", "{} }\n"),
        "additions": ("package a\nvar x = 1", " + a"),
        "consts": ("package a\nconst (\n", "a@ = iota\n", ")\n"),
        "parameters": ("package a\nfunc f(", "a@ B, ", ") {}\n"),
    },
    "rust": {
        "uses": ("", "use a::b@;\n"),
        "use nested": ("use ", "a::{", "b", "}", ";"),
        "use list": ("use a::{", "b@, ", "c};"),
        "use path": ("use a", "::b", ";"),
        "use braces, never closed": ("use ", "{", ";"),
        "functions": ("", "fn f@() {}\n"),
        "impls": ("", "impl A { fn f@() {} }\n"),
        "mods": ("", "mod a { ", "", "}"),
        "attributes": ("", "#[a]\n", "fn f() {}"),
        "macros": ("", "a!(", "b", ")"),
        "chain": ("fn f() { a", ".b()", "; }"),
        "generics": ("fn f(a: ", "A<", "b", ">", ") {}"),
        "references": ("fn f(a: ", "&", "b) {}"),
        "lets": ("fn f() {\n", "let a@ = b@();\n", "}"),
        "matches": ("fn f() { match a {\n", "A@ => b(),\n", "} }"),
        "if else": ("fn f() { ", "if a {} else ", "{} }"),
        "doc comments": ("", "/// c\n", "fn f() {}"),
        "block comments nested": ("", "/* ", "", " */"),
        "raw strings": ("let a = r", "#", '"'),
    },
    "php": {
        "uses": ("<?php\n", "use A\\B@;\n"),
        "use list": ("<?php\nuse A\\{", "B@, ", "C};"),
        "use path": ("<?php\nuse A", "\\B", ";"),
        "functions": ("<?php\n", "function f@() {}\n"),
        "classes": ("<?php\n", "class A@ extends B {}\n"),
        "methods": ("<?php\nclass A {\n", "function f@() {}\n", "}"),
        "calls": ("<?php\nfunction f() {\n", "$a->b@();\n", "}"),
        "chain": ("<?php\n$a", "->b()", ";"),
        "arrays nested": ("<?php\n$a = ", "[", "1", "]", ";"),
        "concatenation": ("<?php\n$a = $b", " . $c", ";"),
        "heredocs": ("<?php\n", "$a = <<<A\nb\nA;\n"),
        "heredoc never closed": ("<?php\n$a = <<<A\n", "b\n"),
        "tags": ("", "<?php ?>\n"),
        "if else": ("<?php\n", "if ($a) {} else ", "{}"),
        "elseif": ("<?php\nif ($a) {} ", "elseif ($b) {} "),
        "interpolation": ('<?php\n$a = "', "{$b}", '";'),
    },
    "ruby": {
        "requires": ("", "require_relative 'a@'\n"),
        "methods": ("class A\n", "def f@\nend\n", "end\n"),
        "classes": ("", "class A@ < B\nend\n"),
        "modules nested": ("", "module A\n", "", "end\n"),
        "calls": ("def f\n", "a.b@(c)\n", "end\n"),
        "chain": ("a", ".b"),
        "chain with calls": ("a", ".b { }"),
        "heredocs": ("", "a = <<A\nb\nA\n"),
        "heredoc openings": ("a(", "<<A, ", ")\n"),
        "heredoc never closed": ("", "a = <<A@\n"),
        "strings": ('a = "', "#{b}", '"'),
        "strings nested": ("a = ", '"#{', "b", '}"'),
        "scope": ("A", "::B"),
        "elsif": ("if a\n", "elsif b\n", "end\n"),
        "attr": ("class A\n", "attr_reader :a@\n", "end\n"),
        "attr list": ("class A\nattr_reader :a", ", :b@", "\nend\n"),
        "blocks": ("", "a do |b|\n", "", "end\n"),
        "if modifiers": ("a", " if b"),
        "comments": ("", "# c\n", "def f\nend\n"),
        "begin comments": ("", "=begin\nc\n=end\n"),
        "percent strings": ("", "%w(", "", ")"),
    },
    "csharp": {
        "interpolation": ("string a = ", '$"{', "b", '}"', ";"),
        "linq": ("var a = from b in c", " where d", " select e;"),
        "namespaces": ("", "namespace A.B@ { class C {} }\n"),
        "regions": ("", "#region a\n", "", "#endregion\n"),
    },
    "kotlin": {
        "functions": ("", "fun f@() {}\n"),
        "classes": ("", "class A@ : B()\n"),
        "lambdas": ("val a = ", "{ ", "1", " }"),
        "chain": ("val a = b", ".c { }"),
        "strings": ("val a = ", '"${', "b", '}"'),
        "imports": ("", "import a.b@\n"),
        "when": ("val a = when (b) {\n", "@ -> c\n", "}"),
        "elvis": ("val a = b", " ?: c"),
        "annotations": ("", "@A\n", "class B"),
        "properties": ("class A {\n", "val a@ = b\n", "}\n"),
        "if else": ("val a = ", "if (b) c else ", "d"),
    },
    "java": {
        "packages": ("package a", ".b", ";"),
        "wildcards": ("A", "<? extends B", " a;", ">"),
        "lambdas": ("class A { B c = ", "d -> ", "e; }"),
        "constructors": ("class A {\n", "A(int b@) {}\n", "}"),
        "anonymous": ("class A { B c = ", "new B() { C d = ", "1;", "};", "}"),
        "text blocks": ('class A { String a = """', "\nb", '"""; }'),
    },
    "cpp": {
        "qualified": ("void a", "::b", "() {}"),
        "operators": ("", "void A::operator@() {}\n"),
        "generic names": ("void A", "<B", "::f() {}", ">"),
        "angles in a name": ("void A", "<B>", "::f() {}"),
        "angle names": ("void ", "A<", "::f() {}"),
        "using": ("", "using namespace a@;\n"),
        "lambdas": ("auto a = ", "[]() { return ", "1;", "};"),
        "initialisers": ("A a = ", "{", "1", "}", ";"),
        "raw strings": ("", 'auto a = R"b(c)b";\n'),
        "typedefs": ("", "typedef struct A@ { int b; } A@;\n"),
    },
    "markdown": {
        "headings": ("", "# a@\n\n"),
        "headings nested": ("", "#", " a\n"),
        "heading of tags": ("# ", "<a", "\n"),
        "heading of links": ("# ", "[a](", "\n"),
        "heading of brackets": ("# ", "](", "\n"),
        "heading blanks": ("#", " ", "a\n"),
        "lists": ("", "* ", "a\n"),
        "quotes": ("", "> ", "a\n"),
        "tables": ("|a|\n|-|\n", "|b|\n"),
        "fences": ("", "```\n"),
        "emphasis": ("", "*a **b "),
    },
    "json": {
        "objects": ("{", '"a@": 1, ', '"b": 1}'),
        "nested": ("", '{"a": ', "1", "}"),
        "arrays": ("", "[", "1", "]"),
    },
    "yaml": {
        "keys": ("", "a@: b\n"),
        "flow": ("a: ", "[", "b", "]"),
        "indented": ("", "INDENTa:\n"),
        "anchors": ("", "a@: &b@ c\n"),
        "documents": ("", "---\na: b\n"),
        "lists": ("", "- ", "a"),
    },
    "html": {
        "nested": ("", "<div>", "a", "</div>"),
        "never closed": ("", "<div>"),
        "attributes": ("<a ", "b@=c ", ">"),
        "openings": ("", "<a"),
        "comments": ("", "<!--"),
        "scripts": ("", "<script>a()</script>\n"),
        "ids": ("", '<p id="a@">b</p>\n'),
        "closings": ("", "</p>\n"),
    },
    "css": {
        "rules": ("", ".a@ { b: c }\n"),
        "selectors": ("a", ", .b@", " {}"),
        "descendants": ("a", " b", " {}"),
        "nested": ("", "a { ", "", "}"),
        "declarations": ("a {", "b: c;\n", "}"),
        "openings": ("", "a { b: "),
        "not": ("", "a:not(", "b", ")", " {}"),
    },
    "bash": {
        "functions": ("", "f@() { a; }\n"),
        "substitutions": ("a=", "$(", "b", ")"),
        "heredocs": ("", "cat <<A\nb\nA\n"),
        "heredoc openings": ("", "cat <<A\n"),
        "pipes": ("a", " | b"),
        "ifs": ("", "if a; then\n", "b\n", "fi\n"),
        "elifs": ("if a; then\nb\n", "elif a; then\nb\n", "fi\n"),
        "quotes": ("a=", '"$(', "b", ')"'),
        "cases": ("case a in\n", "b@) c;;\n", "esac\n"),
        "parameters": ("a=", "${b:-", "c", "}"),
    },
    "sql": {
        "tables": ("", "CREATE TABLE a@ (b int);\n"),
        "columns": ("CREATE TABLE a (", "b@ int, ", "c int);"),
        "selects": ("SELECT a FROM ", "(SELECT a FROM ", "b", ")", ";"),
        "and": ("SELECT a WHERE b", " AND c = d", ";"),
        "values": ("INSERT INTO a VALUES (1)", ", (@)", ";"),
    },
    "haskell": {
        "clauses": ("", "f @ = 1\n"),
        "functions": ("", "f@ :: Int\nf@ = 1\n"),
        "applications": ("f = a", " b"),
        "parens": ("f = ", "(", "a", ")"),
        "dollars": ("f = a", " $ b"),
        "arrows": ("f :: a", " -> b"),
        "lets": ("f = ", "let a = 1 in ", "b"),
        "comments": ("", "{- ", "", " -}"),
    },
    "elixir": {
        "functions": ("defmodule A do\n", "def f@(a), do: b\n", "end\n"),
        "clauses": ("defmodule A do\n", "def f(@), do: b\n", "end\n"),
        "pipes": ("a", " |> b()"),
        "modules": ("", "defmodule A do\n", "", "end\n"),
        "attributes": ("", "@a b\n"),
    },
    "lua": {
        "functions": ("", "function f@() end\n"),
        "tables": ("a = ", "{", "", "}"),
        "concatenation": ("a = b", " .. c"),
        "elseifs": ("if a then\n", "elseif b then\n", "end"),
        "long strings": ("a = ", "[=", ""),
    },
}
SHARED_ATTACKS = {
    "python": (PYTHON_ATTACKS,),
    "starlark": (PYTHON_ATTACKS,),
    "javascript": (ECMASCRIPT_ATTACKS, JSX_ATTACKS),
    "jsx": (ECMASCRIPT_ATTACKS, JSX_ATTACKS),
    "typescript": (ECMASCRIPT_ATTACKS, TYPESCRIPT_ATTACKS),
    "tsx": (ECMASCRIPT_ATTACKS, TYPESCRIPT_ATTACKS, JSX_ATTACKS),
    **dict.fromkeys(
        "java go rust c cpp csharp php kotlin swift scala dart objc solidity zig powershell perl".split(),
        (BRACED_LANGUAGE_ATTACKS,),
    ),
}


@dataclass(frozen=True, slots=True)
class Timing:
    """CPU seconds of each stage, or the raised error."""

    stages: dict[str, float]
    failure: str = ""


class TimeLimitExceeded(Exception):
    """Raised when a stage exceeds the time limit."""


def main() -> int:
    """Print attacks whose time grows faster than their size; return 1 if there are any."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", metavar="LANGUAGE|=ATTACK")
    parser.add_argument("--all", action="store_true", help="also show linear attacks")
    parser.add_argument("--kb", type=int, default=128, help="size of the smallest of three files")
    chosen = parser.parse_args()
    self_test()
    signal.signal(signal.SIGPROF, _raise_time_limit)
    languages = [word for word in chosen.words if not word.startswith("=")] or [
        row.name for row in LANGUAGES if row.grammar
    ]
    wanted = {word[1:] for word in chosen.words if word.startswith("=")}
    print("| language | attack | KB | parse s | code s | graph s | growth | verdict |")
    print("|---|---|--:|--:|--:|--:|--:|---|")
    shown = 0
    for name in languages:
        row = language(name)
        assert row is not None, name
        for attack, parts in attacks(row):
            if not wanted or attack in wanted:
                shown += _report(row, attack, parts, chosen.kb * 1024, show_all=chosen.all)
    return bool(shown)


def attacks(row: Language) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the attacks on a language, with their names."""
    for group in (COMMON_ATTACKS, *SHARED_ATTACKS.get(row.name, ()), LANGUAGE_ATTACKS.get(row.name, {})):
        prefix = "any: " if group is COMMON_ATTACKS else ""
        yield from ((f"{prefix}{name}", parts) for name, parts in group.items())
    yield "any: the sample", ("", row.sample.rstrip() + "\n")


def attack_source(parts: tuple[str, ...], size: int) -> bytes:
    """Return source text of about `size` bytes that repeats the parts of an attack."""
    before, repeated, middle, closing, after = (*parts, "", "", "")[:5]
    if "INDENT" in repeated:
        return _nest_blocks(before, repeated, middle, size)
    count = max(1, size // (len(repeated) + len(closing)))
    body = repeated * count if "@" not in repeated else "".join(_repeat_with_numbers(repeated, size))
    return "".join((before, body, middle, closing * count, after)).encode()


def _repeat_with_numbers(repeated: str, size: int) -> Iterator[str]:
    # `@` before a letter is a decorator, not a number
    number = 0
    while size > 0:
        piece = _insert_number(repeated, number)
        size -= len(piece)
        number += 1
        yield piece


def _insert_number(text: str, number: int) -> str:
    pieces = text.split("@")
    out = [pieces[0]]
    for piece in pieces[1:]:
        is_tag = piece[:1].isalpha() and (not out[-1] or out[-1][-1:] in " \n{(")
        out.append(f"@{piece}" if is_tag else f"{number}{piece}")
    return "".join(out)


def _nest_blocks(before: str, repeated: str, middle: str, size: int) -> bytes:
    """Nest blocks. Each block is indented by one column more than the block around it."""
    depth = int((2 * size) ** 0.5)
    lines = [_insert_number(repeated, level).replace("INDENT", " " * level) for level in range(depth)]
    return (before + "".join(lines) + middle.replace("INDENT", " " * depth)).encode()


def _report(row: Language, attack: str, parts: tuple[str, ...], size: int, *, show_all: bool) -> bool:
    """Print an attack that fails or is too slow, and return whether it does."""
    for factor in (1, 4):
        data = attack_source(parts, size * factor)
        now = measure_stages(row, data)
        if now.failure:
            break
    half = measure_stages(row, attack_source(parts, size * 2))
    growth = _growth_factors(half, now)
    verdict = _describe_verdict(now, growth, len(data))
    if verdict and not now.failure:  # Repeat the measurement, because other load slows down single runs.
        half, now = (
            _faster_timing(old, measure_stages(row, attack_source(parts, size * n))) for old, n in ((half, 2), (now, 4))
        )
        growth = _growth_factors(half, now)
        verdict = _describe_verdict(now, growth, len(data))
    if verdict or show_all:
        stages = " | ".join(f"{now.stages.get(stage, 0.0):.2f}" for stage in ("parse", "code", "graph"))
        factors = " ".join(f"{factor:.1f}" for factor in growth.values())
        print(f"| {row.name} | {attack} | {len(data) // 1024} | {stages} | {factors} | {verdict} |", flush=True)
    return bool(verdict)


def _growth_factors(half: Timing, now: Timing) -> dict[str, float]:
    return {stage: seconds / max(half.stages.get(stage, 0.0), 0.001) for stage, seconds in now.stages.items()}


def _faster_timing(one: Timing, other: Timing) -> Timing:
    return Timing({stage: min(seconds, other.stages.get(stage, seconds)) for stage, seconds in one.stages.items()})


def _describe_verdict(now: Timing, growth: dict[str, float], size: int) -> str:
    if now.failure:
        return now.failure
    steep = [
        stage
        for stage, factor in growth.items()
        if factor > MAX_LINEAR_GROWTH and now.stages[stage] > MIN_COMPARED_SECONDS
    ]
    if steep:
        return f"superlinear: {', '.join(steep)}"
    return "slow" if sum(now.stages.values()) > SLOW_SECONDS_PER_KB * (1 + size / 1024) else ""


def measure_stages(row: Language, data: bytes) -> Timing:
    """Parse and extract one file, with the CPU time of each stage."""
    stages: dict[str, float] = {}
    try:
        tree = _run_stage(stages, "parse", lambda: parse(row, data))
        file = ParsedFile(f"src/attack{row.extensions[0]}", data, row, tree)
        for indexer in (CodeIndexer(), GraphIndexer()):
            _run_stage(stages, indexer.name, lambda indexer=indexer: indexer.extract(file))  # type: ignore[misc]
    except Exception as exc:  # noqa: BLE001 (any exception is a finding)
        return Timing(stages, f"{type(exc).__name__}: {str(exc)[:60]}{_error_location(exc)}")
    return Timing(stages)


def _error_location(exc: BaseException) -> str:
    trace = exc.__traceback__
    names = []
    while trace is not None:
        names.append(f"{trace.tb_frame.f_code.co_filename.rsplit('/', 1)[-1]}:{trace.tb_lineno}")
        trace = trace.tb_next
    return f" at {names[-1]}" if not isinstance(exc, TimeLimitExceeded) else f" in {' '.join(names[-3:-1])}"


def _run_stage(stages: dict[str, float], stage: str, work: Callable[[], Any]) -> Any:
    started = time.process_time()
    signal.setitimer(signal.ITIMER_PROF, LIMIT_SECONDS)
    try:
        return work()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        stages[stage] = time.process_time() - started


def _raise_time_limit(_number: int, _frame: object) -> None:
    raise TimeLimitExceeded(f"more than {LIMIT_SECONDS} s")


if __name__ == "__main__":
    sys.exit(main())
