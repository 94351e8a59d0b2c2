// The part of the standard library that type inference needs. Read by library.py; never a target of references.
interface Function { call(thisArg: any, ...args: any[]): any; apply(thisArg: any, args?: any): any;
  bind(thisArg: any, ...args: any[]): any; name: string; length: number; toString(): string; }
interface String {
  split(separator: any, limit?: number): string[]; trim(): string; toString(): string;
  slice(a?: number, b?: number): string;
  toLowerCase(): string; toUpperCase(): string; replace(a: any, b: any): string; replaceAll(a: any, b: any): string;
  match(re: any): RegExpMatchArray; matchAll(re: any): IterableIterator<RegExpMatchArray>;
  substring(a: number, b?: number): string;
  padStart(n: number, s?: string): string; padEnd(n: number, s?: string): string;
  concat(...s: string[]): string; charAt(n: number): string;
  trimStart(): string; trimEnd(): string; repeat(n: number): string; substr(a: number, b?: number): string;
  indexOf(s: string): number;
  includes(s: string): boolean; startsWith(s: string): boolean; endsWith(s: string): boolean; length: number;
  charCodeAt(n: number): number;
  [index: number]: string;
}
interface RegExpMatchArray extends Array<string> { index?: number; input?: string; groups?: Record<string, string>; }
interface RegExp { exec(s: string): RegExpMatchArray; test(s: string): boolean; }
interface Array<T> {
  length: number; push(...items: T[]): number; pop(): T; shift(): T; unshift(...items: T[]): number;
  concat(...items: (T | T[])[]): T[]; slice(start?: number, end?: number): T[];
  splice(start: number, count?: number, ...items: T[]): T[];
  reverse(): T[]; sort(compare?: (a: T, b: T) => number): T[]; toSorted(compare?: (a: T, b: T) => number): T[];
  toReversed(): T[];
  indexOf(item: T, from?: number): number; lastIndexOf(item: T): number; includes(item: T): boolean;
  join(separator?: string): string;
  forEach(callback: (value: T, index: number, array: T[]) => void, thisArg?: any): void;
  map<U>(callback: (value: T, index: number, array: T[]) => U, thisArg?: any): U[];
  flatMap<U>(callback: (value: T, index: number, array: T[]) => U | U[], thisArg?: any): U[];
  filter<S extends T>(callback: (value: T, index: number, array: T[]) => value is S, thisArg?: any): S[];
  filter(callback: (value: T, index: number, array: T[]) => unknown, thisArg?: any): T[];
  find<S extends T>(callback: (value: T, index: number, array: T[]) => value is S, thisArg?: any): S;
  find(callback: (value: T, index: number, array: T[]) => unknown, thisArg?: any): T;
  findLast(callback: (value: T, index: number, array: T[]) => unknown, thisArg?: any): T;
  findIndex(callback: (value: T, index: number, array: T[]) => unknown, thisArg?: any): number;
  findLastIndex(callback: (value: T, index: number, array: T[]) => unknown, thisArg?: any): number;
  some(callback: (value: T, index: number, array: T[]) => unknown, thisArg?: any): boolean;
  every(callback: (value: T, index: number, array: T[]) => unknown, thisArg?: any): boolean;
  reduce(callback: (previous: T, current: T, index: number, array: T[]) => T): T;
  reduce<U>(callback: (previous: U, current: T, index: number, array: T[]) => U, initial: U): U;
  reduceRight(callback: (previous: T, current: T, index: number, array: T[]) => T): T;
  reduceRight<U>(callback: (previous: U, current: T, index: number, array: T[]) => U, initial: U): U;
  fill(value: T): T[]; at(index: number): T; flat(depth?: number): any; keys(): IterableIterator<number>;
  values(): IterableIterator<T>; entries(): IterableIterator<[number, T]>; copyWithin(a: number, b: number): T[];
}
interface ReadonlyArray<T> extends Array<T> {}
interface ArrayLike<T> { length: number; [index: number]: T; }
interface ArrayConstructor { isArray(value: any): value is any[];
  from<T, U>(items: Iterable<T>, map: (value: T, index: number) => U): U[]; from<T>(items: Iterable<T>): T[];
  of<T>(...items: T[]): T[]; new <T>(...items: any[]): T[]; }
declare var Array: ArrayConstructor;
interface Iterable<T> {} interface AsyncIterable<T> {}
interface Iterator<T> { next(...args: any[]): IteratorResult<T>; return?(value?: any): IteratorResult<T>;
  throw?(e?: any): IteratorResult<T>; }
interface IterableIterator<T> extends Iterator<T> { map<U>(callback: (value: T) => U): IterableIterator<U>;
  filter(callback: (value: T) => unknown): IterableIterator<T>; toArray(): T[];
  forEach(callback: (value: T) => void): void; }
interface AsyncIterator<T> { next(...args: any[]): Promise<IteratorResult<T>>; }
interface AsyncIterableIterator<T> extends AsyncIterator<T> {}
interface Generator<T, R = any, N = any> extends IterableIterator<T> {}
interface AsyncGenerator<T, R = any, N = any> extends AsyncIterableIterator<T> {}
interface IteratorResult<T> { done?: boolean; value: T; }
interface PromiseLike<T> { then<A = T>(fulfilled?: (value: T) => A | PromiseLike<A>, rejected?: (reason: any) => any): Promise<A>; }
interface Promise<T> {
  then<A = T>(fulfilled?: (value: T) => A | PromiseLike<A>, rejected?: (reason: any) => any): Promise<A>;
  catch<B>(rejected?: (reason: any) => B): Promise<T>; finally(callback?: () => void): Promise<T>;
}
interface PromiseConstructor {
  new <T>(executor: (resolve: (value: T) => void, reject: (reason?: any) => void) => void): Promise<T>;
  resolve<T>(value: T): Promise<T>; reject(reason?: any): Promise<any>;
  all<T>(values: Iterable<Promise<T>>): Promise<T[]>;
  race<T>(values: Iterable<Promise<T>>): Promise<T>; any<T>(values: Iterable<Promise<T>>): Promise<T>;
  allSettled<T>(values: Iterable<T>): Promise<any>;
}
declare var Promise: PromiseConstructor;
declare class Map<K, V> {
  constructor(entries?: Iterable<[K, V]>);
  get(key: K): V; set(key: K, value: V): this; has(key: K): boolean; delete(key: K): boolean; clear(): void;
  size: number;
  forEach(callback: (value: V, key: K, map: Map<K, V>) => void, thisArg?: any): void;
  keys(): IterableIterator<K>; values(): IterableIterator<V>; entries(): IterableIterator<[K, V]>;
}
interface ReadonlyMap<K, V> { get(key: K): V; has(key: K): boolean; size: number;
  forEach(callback: (value: V, key: K) => void): void; keys(): IterableIterator<K>;
  values(): IterableIterator<V>; entries(): IterableIterator<[K, V]>; }
declare class WeakMap<K, V> { get(key: K): V; set(key: K, value: V): this; has(key: K): boolean;
  delete(key: K): boolean; }
declare class Set<T> {
  constructor(values?: Iterable<T>);
  add(value: T): this; has(value: T): boolean; delete(value: T): boolean; clear(): void; size: number;
  forEach(callback: (value: T, key: T, set: Set<T>) => void, thisArg?: any): void;
  keys(): IterableIterator<T>; values(): IterableIterator<T>; entries(): IterableIterator<[T, T]>;
}
interface ReadonlySet<T> { has(value: T): boolean; size: number; forEach(callback: (value: T) => void): void;
  keys(): IterableIterator<T>; values(): IterableIterator<T>; }
declare class WeakSet<T> { add(value: T): this; has(value: T): boolean; delete(value: T): boolean; }
declare class WeakRef<T> { constructor(value: T); deref(): T; }
declare class Error { constructor(message?: string, options?: any); name: string; message: string;
  stack?: string; cause?: unknown; }
declare class TypeError extends Error {} declare class RangeError extends Error {} declare class SyntaxError extends Error {}
declare class Date { constructor(...args: any[]); getTime(): number; toISOString(): string; valueOf(): number; }
declare class EventTarget { addEventListener(type: string, listener: any, options?: any): void;
  removeEventListener(type: string, listener: any): void; dispatchEvent(event: any): boolean; }
interface ObjectConstructor {
  keys(value: any): string[]; values<T>(value: { [key: string]: T }): T[];
  entries<T>(value: { [key: string]: T }): [string, T][];
  assign<A, B>(target: A, source: B): A & B; assign<A, B, C>(target: A, a: B, b: C): A & B & C;
  assign(target: any, ...sources: any[]): any;
  freeze<T>(value: T): T; seal<T>(value: T): T; create(prototype: any, properties?: any): any;
  setPrototypeOf<T>(value: T, prototype: any): T;
  defineProperty<T>(value: T, name: any, descriptor: any): T; defineProperties<T>(value: T, properties: any): T;
  getPrototypeOf(value: any): any; fromEntries<T>(entries: Iterable<[any, T]>): { [key: string]: T };
}
declare var Object: ObjectConstructor;
type Partial<T> = { [P in keyof T]?: T[P] };
type Required<T> = { [P in keyof T]-?: T[P] };
type Readonly<T> = { readonly [P in keyof T]: T[P] };
type Pick<T, K extends keyof T> = { [P in K]: T[P] };
type Omit<T, K> = { [P in Exclude<keyof T, K>]: T[P] };
type Record<K, V> = { [P in K]: V };
type Exclude<T, U> = T;
type Extract<T, U> = T;
type NonNullable<T> = T;
type NoInfer<T> = T;
type ThisType<T> = {};
type Awaited<T> = T extends PromiseLike<infer V> ? V : T extends Promise<infer W> ? W : T;
type ReturnType<T> = T extends (...args: any) => infer R ? R : any;
type Parameters<T> = T extends (...args: infer P) => any ? P : never;
type InstanceType<T> = T extends new (...args: any) => infer R ? R : any;
declare function structuredClone<T>(value: T): T;
