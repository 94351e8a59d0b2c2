// Requests to the server. Every change includes the session's CSRF token.
import type { Changed, PageState, Problem, ToolText } from "./types";

let csrf = "";

/** Set the CSRF token that is sent with changes. */
export function setCsrf(token: string): void {
  csrf = token;
}

/** A failed request; the message is for the user, `status` 0 means that the server cannot be reached. */
export class RequestFailed extends Error {
  constructor(
    message: string,
    readonly status: number,
  ) {
    super(message);
  }
}

export type Parameters = Record<string, string | number | undefined>;

/** Request the data of a view. */
export async function view<T>(name: string, given: Parameters = {}, signal?: AbortSignal): Promise<T> {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(given)) if (value !== undefined && value !== "") query.set(key, `${value}`);
  return send<T>(`/api/view/${name}?${query}`, { signal: signal ?? null });
}

/** Apply a change. */
export function change(name: string, given: Record<string, string>): Promise<Changed> {
  return post<Changed>(`/api/change/${name}`, given);
}

/** Call a tool as an agent would; throw an error if the tool reports one. */
export async function tool(name: string, given: Record<string, unknown>): Promise<ToolText> {
  const answer = await post<ToolText>(`/api/tool/${name}`, given);
  if (answer.is_error) throw new RequestFailed(answer.text.replace(/^Error: /, ""), 400);
  return answer;
}

function post<T>(path: string, given: unknown): Promise<T> {
  return send<T>(path, { method: "POST", body: JSON.stringify(given) });
}

/** Start a new session if the server requires no sign-in, because a restarted server does not know old sessions. */
export async function renewSession(): Promise<boolean> {
  try {
    const opened = await fetch("/");
    const found = opened.ok ? await fetch("/api/view/state") : opened;
    if (!found.ok) return false;
    setCsrf(((await found.json()) as PageState).csrf);
    return true;
  } catch {
    return false;
  }
}

const SESSION_ENDED = [401, 403]; // 403 means that the change had the CSRF token of an old session

async function send<T>(path: string, options: RequestInit, isSecond = false): Promise<T> {
  let response: Response;
  try {
    const headers: Record<string, string> = options.method ? { "Content-Type": "application/json", "X-Deltos-CSRF": csrf } : {};
    response = await fetch(path, { ...options, headers });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new RequestFailed("The server does not answer. Is `deltos ui` still running? This page reconnects automatically.", 0);
  }
  if (SESSION_ENDED.includes(response.status) && !isSecond && (await renewSession())) return send<T>(path, options, true);
  const body = (await response.json().catch(() => null)) as (T & Partial<Problem>) | null;
  if (!response.ok || body === null) {
    throw new RequestFailed(body?.error ?? `The server answered ${response.status}`, response.status);
  }
  return body;
}
