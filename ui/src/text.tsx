// Text from outside, made safe to read: nothing here ever becomes markup, and what hides in a text is shown.
import type { ComponentChildren, VNode } from "preact";

// Controls, escapes of terminals, marks that turn the direction of writing, and whatever takes no room: joiners, fillers, tags, variation
// selectors. Only the one that colours emoji (U+FE0F) is as common as harmless.
const HIDDEN = /(?!\ufe0f)[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\ufff9-\ufffb\p{Default_Ignorable_Code_Point}]/u;
const CONTROL_PICTURES = 0x2400;

function nameOf(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return code < 0x20 ? String.fromCodePoint(CONTROL_PICTURES + code) : `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
}

/** A text with its hidden characters shown as marks. */
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

/** The same where there is room for text alone: in drawings, titles and labels. */
export function visible(text: string): string {
  return HIDDEN.test(text) ? Array.from(text, (character) => (HIDDEN.test(character) ? `[${nameOf(character)}]` : character)).join("") : text;
}

const SCRIPTS = [/\p{Script=Latin}/u, /\p{Script=Cyrillic}/u, /\p{Script=Greek}/u];

/** Whether a word mixes scripts whose letters look alike. */
export function mixesScripts(word: string): boolean {
  return SCRIPTS.filter((script) => script.test(word)).length > 1;
}

/** A name of code, a path or a title: on its own line of writing, hidden characters shown, look-alikes marked. */
export function Name({ text }: { text: string }): VNode {
  const mixed = text.length < 2_000 && text.split(/[^\p{L}\p{M}]+/u).some(mixesScripts);
  if (!mixed) return <bdi>{shown(text)}</bdi>;
  return (
    <bdi class="mixed" title="letters of several scripts, which look alike">
      {shown(text)}
    </bdi>
  );
}

/** The address if a browser may follow it; anything but the web is not a link here. */
export function webAddress(address: string): string | undefined {
  try {
    const url = new URL(address);
    return url.protocol === "https:" || url.protocol === "http:" ? url.href : undefined;
  } catch {
    return undefined;
  }
}

/** A link to the web, or its text alone. */
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
/** A number with separators. */
export const count = (number: number): string => numbers.format(number);

/** A number of things in words. */
export const counted = (number: number, one: string, many = `${one}s`): string => `${count(number)} ${number === 1 ? one : many}`;

/** A size in words. */
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
/** How long ago a moment in seconds was. */
export function ago(seconds: number): string {
  if (!seconds) return "never";
  const age = Date.now() / 1_000 - seconds;
  for (const [length, name] of AGES) {
    if (age >= length) return `${counted(Math.floor(age / length), name)} ago`;
  }
  return "just now";
}

/** A moment, for a title. */
export const moment = (seconds: number): string => (seconds ? new Date(seconds * 1_000).toLocaleString() : "never");
