// Components and hooks that all views share.
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

/** Load a view, again whenever its parameters change; the previous data stays until the new data arrives. */
export function useView<T>(name: string, given: Parameters, options: { skip?: boolean } = {}): Loaded<T> {
  const [state, setState] = useState<{ data?: T; error: string; busy: boolean; away?: boolean }>({ error: "", busy: !options.skip });
  const [round, setRound] = useState(0);
  const key = JSON.stringify(given);
  useLayoutEffect(() => { // send the request before the first paint
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
        setState((before) => ({ ...before, error: errorMessage(error), busy: false, away: isUnreachable(error) }));
      },
    );
    return () => stop.abort();
  }, [name, key, round, options.skip]);
  const again = useCallback(() => setRound((before) => before + 1), []);
  useRetry(state.away === true && !state.busy, again);
  return { data: state.data, error: state.error, busy: state.busy, again };
}

export const RETRY_MS = 2_000;

/** Retry regularly while the server cannot be reached. */
function useRetry(away: boolean, again: () => void): void {
  useEffect(() => {
    if (!away) return;
    const timer = setTimeout(again, RETRY_MS);
    return () => clearTimeout(timer);
  }, [away, again]);
}

/** Whether a request failed because the server cannot be reached. */
export const isUnreachable = (error: unknown): boolean => error instanceof RequestFailed && error.status === 0;

/** Return the message of an error for the user. */
export function errorMessage(error: unknown): string {
  return error instanceof RequestFailed ? error.message : String(error);
}

const SUGGESTED = "Did you mean: ";

/** An error message; suggested names are links that `link` returns. */
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

/** The exact text that an agent receives, and its size. */
export function AgentText({ text, tokens }: { text: string; tokens: number }): VNode {
  return (
    <section class="agent-text" aria-label="text for the agent">
      <p class="hint">The exact text that the agent receives: about {count(tokens)} tokens (characters / 4).</p>
      <div class="code-box"><pre class="code wrapped" tabIndex={0}>{shown(text)}</pre><CopyButton text={text} /></div>
    </section>
  );
}

/** Copies a text if the browser allows it. */
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

/** Key handler that makes an element behave like a button. SVG elements need `tabindex` in lower case. */
export function pressed(act: () => void): (event: KeyboardEvent) => void {
  return (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault(); // otherwise the space bar scrolls
    act();
  };
}

/** Key handler for moving through a list with the arrow keys. Also handles keys while no other element has the focus. */
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

/** A notification at the bottom of the page, optionally with an undo button. */
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
