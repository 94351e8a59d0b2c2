// Displays untrusted text: it never becomes markup, and hidden characters are made visible.
import type { ComponentChildren, VNode } from "preact";

// Control characters, terminal escapes, bidirectional marks and zero-width characters (joiners, fillers, tags, variation
// selectors), except the emoji variation selector U+FE0F, which is common and harmless.
const HIDDEN = /(?!\ufe0f)[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\ufff9-\ufffb\p{Default_Ignorable_Code_Point}]/u;
const CONTROL_PICTURES = 0x2400;

function nameOf(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return code < 0x20 ? String.fromCodePoint(CONTROL_PICTURES + code) : `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
}

/** Return a text with its hidden characters as visible marks. */
export function shown(text: string): ComponentChildren {
  if (!HIDDEN.test(text)) return text;
  const parts: ComponentChildren[] = [];
  let plain = "";
  for (const character of text) {
    if (HIDDEN.test(character)) {
      if (plain) parts.push(plain);
      plain = "";
      parts.push(<span class="hidden-character" title="a hidden character">{nameOf(character)}</span>);
    } else plain += character;
  }
  if (plain) parts.push(plain);
  return parts;
}

/** Like `shown`, but as plain text for drawings, titles and labels. */
export function visible(text: string): string {
  return HIDDEN.test(text) ? Array.from(text, (character) => (HIDDEN.test(character) ? `[${nameOf(character)}]` : character)).join("") : text;
}

const SCRIPTS = [/\p{Script=Latin}/u, /\p{Script=Cyrillic}/u, /\p{Script=Greek}/u];

/** Whether a word mixes scripts with similar letters. */
export function mixesScripts(word: string): boolean {
  return SCRIPTS.filter((script) => script.test(word)).length > 1;
}

/** A name, path or title in its own text direction, with hidden characters visible and mixed scripts marked. */
export function Name({ text }: { text: string }): VNode {
  const mixed = text.length < 2_000 && text.split(/[^\p{L}\p{M}]+/u).some(mixesScripts);
  if (!mixed) return <bdi>{shown(text)}</bdi>;
  return (
    <bdi class="mixed" title="contains letters of several scripts that look alike">
      {shown(text)}
    </bdi>
  );
}

/** Return the address if it is a web address, else undefined. */
export function webAddress(address: string): string | undefined {
  try {
    const url = new URL(address);
    return url.protocol === "https:" || url.protocol === "http:" ? url.href : undefined;
  } catch {
    return undefined;
  }
}

/** A web link; other addresses are shown as text. */
export function WebLink({ to, children }: { to: string; children?: ComponentChildren }): VNode {
  const href = webAddress(to);
  const inside = children ?? shown(to);
  if (!href) return <span class="no-link">{inside}</span>;
  return (
    <a href={href} target="_blank" rel="noopener noreferrer" title={href}>
      {inside}
    </a>
  );
}

const numbers = new Intl.NumberFormat("en");
/** Format a number with thousands separators. */
export const count = (number: number): string => numbers.format(number);

/** Format a number with its noun. */
export const counted = (number: number, one: string, many = `${one}s`): string => `${count(number)} ${number === 1 ? one : many}`;

/** Format a size in bytes. */
export function size(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  if (bytes < 1_000_000) return `${(bytes / 1_000).toFixed(0)} kB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

const AGES: [number, string][] = [
  [86_400 * 365, "year"],
  [86_400 * 30, "month"],
  [86_400 * 7, "week"],
  [86_400, "day"],
  [3_600, "hour"],
  [60, "minute"],
];
/** Format the time since `seconds` (Unix time). */
export function ago(seconds: number): string {
  if (!seconds) return "never";
  const age = Date.now() / 1_000 - seconds;
  for (const [length, name] of AGES) {
    if (age >= length) return `${counted(Math.floor(age / length), name)} ago`;
  }
  return "just now";
}

/** Format a Unix time as a local date and time. */
export const moment = (seconds: number): string => (seconds ? new Date(seconds * 1_000).toLocaleString() : "never");
