// Small parts that all views share.
import type { ComponentChildren, VNode } from "preact";
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { RequestFailed, view, type Parameters } from "./api";
import { count, Name, shown } from "./text";

export interface Loaded<T> {
  data: T | undefined;
  error: string;
  busy: boolean;
  again: () => void;
}

/** A view of the server, asked again when its parameters change; the former answer stays until the next is there. */
export function useView<T>(name: string, given: Parameters, options: { skip?: boolean } = {}): Loaded<T> {
  const [state, setState] = useState<{ data?: T; error: string; busy: boolean; away?: boolean }>({ error: "", busy: !options.skip });
  const [round, setRound] = useState(0);
  const key = JSON.stringify(given);
  useLayoutEffect(() => { // asked before anything is painted
    if (options.skip) {
      setState({ error: "", busy: false });
      return;
    }
    const stop = new AbortController();
    setState((before) => ({ ...before, busy: true }));
    view<T>(name, given, stop.signal).then(
      (data) => setState({ data, error: "", busy: false }),
      (error: unknown) => {
        if (stop.signal.aborted) return;
        setState((before) => ({ ...before, error: spoken(error), busy: false, away: isAway(error) }));
      },
    );
    return () => stop.abort();
  }, [name, key, round, options.skip]);
  const again = useCallback(() => setRound((before) => before + 1), []);
  useReturn(state.away === true && !state.busy, again);
  return { data: state.data, error: state.error, busy: state.busy, again };
}

export const RETURN_MS = 2_000;

/** Ask again now and then while the server cannot be reached. */
function useReturn(away: boolean, again: () => void): void {
  useEffect(() => {
    if (!away) return;
    const timer = setTimeout(again, RETURN_MS);
    return () => clearTimeout(timer);
  }, [away, again]);
}

/** Whether a request failed because nobody answers. */
export const isAway = (error: unknown): boolean => error instanceof RequestFailed && error.status === 0;

/** What went wrong, for a person. */
export function spoken(error: unknown): string {
  return error instanceof RequestFailed ? error.message : String(error);
}

const SUGGESTED = "Did you mean: ";

/** What went wrong; names that the server suggests lead where `link` says. */
export function Problem({ text, again, link }: { text: string; again?: () => void; link?: (name: string) => string }): VNode | null {
  if (!text) return null;
  const at = link && text.endsWith("?") ? text.indexOf(SUGGESTED) + SUGGESTED.length : -1;
  const names = link && at >= SUGGESTED.length ? text.slice(at, -1).split(", ") : [];
  return (
    <div class="problem" role="alert">
      {link && names.length > 0
        ? <span>{shown(text.slice(0, at))}{names.map((name, index) => <>{index ? ", " : ""}<a href={link(name)}><Name text={name} /></a></>)}?</span>
        : <span>{shown(text)}</span>}
      {again && <button type="button" onClick={again}>Try again</button>}
    </div>
  );
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }): VNode {
  return (
    <div class="empty">
      <h2>{title}</h2>
      <div>{children}</div>
    </div>
  );
}

export function Heading({ title, children }: { title: string; children?: ComponentChildren }): VNode {
  return (
    <header class="heading-row">
      <h1>{title}</h1>
      <div class="heading-tools">{children}</div>
    </header>
  );
}

/** The exact text that an agent receives. */
export function AgentText({ text, tokens }: { text: string; tokens: number }): VNode {
  return (
    <section class="agent-text" aria-label="what the agent receives">
      <p class="hint">Exactly what the agent receives: about {count(tokens)} tokens (characters / 4).</p>
      <div class="code-box"><pre class="code wrapped" tabIndex={0}>{shown(text)}</pre><CopyButton text={text} /></div>
    </section>
  );
}

/** Copies a text, where the browser allows it. */
export function CopyButton({ text }: { text: string }): VNode | null {
  const [done, setDone] = useState(false);
  useEffect(() => {
    if (!done) return;
    const timer = setTimeout(() => setDone(false), 2_000);
    return () => clearTimeout(timer);
  }, [done]);
  if (!navigator.clipboard) return null; // only on loopback and over https
  const copy = () => void navigator.clipboard.writeText(text).then(() => setDone(true), () => setDone(false));
  return <button type="button" class="copy" onClick={copy} aria-live="polite">{done ? "Copied" : "Copy"}</button>;
}

export function Switch(props: { label: string; on: boolean; flip: () => void }): VNode {
  return (
    <button type="button" class="switch" role="switch" aria-checked={props.on} onClick={props.flip}>
      <span class="knob" aria-hidden="true" />
      {props.label}
    </button>
  );
}

/** What Enter and Space do where something that is no button is one; in SVG its `tabindex` is written in small letters, others are ignored. */
export function pressed(act: () => void): (event: KeyboardEvent) => void {
  return (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault(); // else the space bar scrolls
    act();
  };
}

/** Keys that move through a list: what to do with a key. Keys that nothing else on the page has are taken, too. */
export function useArrows(length: number, chosen: number, choose: (index: number) => void): (event: KeyboardEvent) => void {
  const state = useRef({ length, chosen, choose });
  state.current = { length, chosen, choose };
  const move = useCallback((event: KeyboardEvent) => {
    const { length, chosen, choose } = state.current;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step || !length || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    choose(Math.max(0, Math.min(length - 1, chosen + step)));
  }, []);
  useEffect(() => {
    const listen = (event: KeyboardEvent) => { if (event.target === document.body || event.target === document.getElementById("main")) move(event); };
    addEventListener("keydown", listen);
    return () => removeEventListener("keydown", listen);
  }, []);
  return move;
}

/** A line at the foot of the page that says what was done. */
export function useToast(): [VNode | null, (text: string, undo?: () => void) => void] {
  const [said, setSaid] = useState<{ text: string; undo?: (() => void) | undefined } | null>(null);
  useEffect(() => {
    if (!said) return;
    const timer = setTimeout(() => setSaid(null), said.undo ? 12_000 : 5_000);
    return () => clearTimeout(timer);
  }, [said]);
  const say = useCallback((text: string, undo?: () => void) => setSaid({ text, undo }), []);
  const line = said && (
    <div class="toast" role="status">
      {shown(said.text)}
      {said.undo && <button type="button" onClick={() => { said.undo?.(); setSaid(null); }}>Undo</button>}
    </div>
  );
  return [line, say];
}
