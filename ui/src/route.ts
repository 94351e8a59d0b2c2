// The URL fragment, which contains the view and its parameters: all state for deep links and the back button.
import { useEffect, useState } from "preact/hooks";

export interface Place {
  view: string;
  given: Record<string, string>;
}

/** Parse a URL fragment such as `#/search?q=rate+limit`. */
export function readPlace(hash: string): Place {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  return { view: path || "search", given: Object.fromEntries(new URLSearchParams(query)) };
}

/** Return the URL fragment of a view, without empty parameters. */
export function address(view: string, given: Record<string, string | undefined> = {}): string {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(given)) if (value) query.set(key, value);
  const text = query.toString();
  return `#/${view}${text ? `?${text}` : ""}`;
}

/** Navigate to a view; with `replace`, add no history entry. */
export function go(hash: string, replace = false): void {
  if (replace) history.replaceState(null, "", hash);
  else history.pushState(null, "", hash);
  dispatchEvent(new HashChangeEvent("hashchange"));
}

/** Return the current view and parameters, which are updated on navigation. */
export function usePlace(): Place {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const follow = () => setHash(location.hash);
    addEventListener("hashchange", follow);
    addEventListener("popstate", follow);
    return () => {
      removeEventListener("hashchange", follow);
      removeEventListener("popstate", follow);
    };
  }, []);
  return readPlace(hash);
}
