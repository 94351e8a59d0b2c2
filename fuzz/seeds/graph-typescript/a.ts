/// <reference path="./lib.ts" />
import def, { helper as h, type Base } from './lib';
import * as ns from 'pkg/sub';
export * from './lib';
export default abstract class A<T extends Base = Base> extends ns.X<T> implements I {
  #p = 1; static { this.y = 2 }
  constructor(private readonly q: T, public r?: string) { super(); }
  get v(): T { return this.q!.go() as unknown as T }
  @dec() async *m<K extends keyof T>(k: K, ...rest: T[K][]): AsyncGenerator<T> { yield* rest; for await (const x of y) {} }
}
declare module 'x' { export const a: typeof import('./lib'); }
namespace N.M { export enum E { A = 1, B = A << 2 } }
type C<T> = T extends (infer U)[] ? C<U> : { [P in keyof T as `get${P}`]?: T[P] };
export const f = <T,>(x: T): x is T & {} => x satisfies T, { a: { b = 1 }, ...c } = h(1)?.go;
export = A;
function over(a: string): void; function over(a: any) { label: while (1) break label; }
