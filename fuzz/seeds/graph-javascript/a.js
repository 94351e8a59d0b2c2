/** @import { Base } from './lib' */
/** @typedef {{a: number, b?: Base[]}} Opt */
/**
 * Does it.
 * @template T
 * @param {Opt & import('./lib').Base} opt the option
 * @param {...(string|T)} rest
 * @returns {Promise<T>}
 */
async function go(opt, ...rest) { const { a = 1 } = opt ?? {}; return await h?.[a]`x${rest}y`; }
const lib = require('./lib'), { x: [y] } = lib;
module.exports = { go, ['a' + 1]: class extends lib.Base { static #z = /re[/]x/g; get q() { return new.target } } };
exports.other = function* () { try { yield* go() } catch { throw 1 } };
Object.assign(module.exports, lib); lib.proto.x = () => import('./other');
var html = <div {...x} a={y}>text<A.B/></div>;
