"""Global names of JavaScript and common runtimes, which are not looked up in the project."""

from __future__ import annotations

_GLOBAL_NAMES = """
undefined NaN Infinity globalThis window self global document navigator location console process Buffer
Object Function Array String Number Boolean Symbol BigInt Math JSON Date RegExp Error TypeError
RangeError SyntaxError ReferenceError EvalError URIError AggregateError Promise Proxy Reflect Map Set
WeakMap WeakSet WeakRef FinalizationRegistry ArrayBuffer SharedArrayBuffer DataView Int8Array Uint8Array
Uint8ClampedArray Int16Array Uint16Array Int32Array Uint32Array Float32Array Float64Array BigInt64Array
BigUint64Array Atomics Intl WebAssembly parseInt parseFloat isNaN isFinite encodeURIComponent
decodeURIComponent encodeURI decodeURI escape unescape eval setTimeout clearTimeout setInterval
clearInterval setImmediate clearImmediate queueMicrotask requestAnimationFrame cancelAnimationFrame
structuredClone fetch URL URLSearchParams AbortController AbortSignal Headers Request Response FormData
Blob File FileReader Event EventTarget CustomEvent MessageChannel MessagePort TextEncoder TextDecoder
ReadableStream WritableStream TransformStream WebSocket XMLHttpRequest performance crypto atob btoa
require module exports __dirname __filename arguments Partial Required Readonly Record Pick Omit Exclude
Extract NonNullable Parameters ConstructorParameters ReturnType InstanceType ThisType ThisParameterType
OmitThisParameter Awaited Uppercase Lowercase Capitalize Uncapitalize NoInfer PromiseLike ReadonlyArray
ArrayLike ReadonlyMap ReadonlySet Iterable Iterator IterableIterator AsyncIterable AsyncIterator
AsyncIterableIterator Generator AsyncGenerator IteratorResult PropertyKey PropertyDescriptor
TemplateStringsArray CallableFunction NewableFunction IArguments RegExpMatchArray RegExpExecArray
HTMLElement Element Node
"""

WELL_KNOWN_GLOBALS = frozenset(_GLOBAL_NAMES.split())
