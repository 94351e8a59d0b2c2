// The address after `#`: which view, and what it shows. Deep links and the back button go by it alone.
import { useEffect, useState } from "preact/hooks";

export interface Place {
  view: string;
  given: Record<string, string>;
}

/** Read an address such as `#/search?q=rate+limit`. */
export function readPlace(hash: string): Place {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  return { view: path || "search", given: Object.fromEntries(new URLSearchParams(query)) };
}

/** Write an address; what is empty is left out. */
export function address(view: string, given: Record<string, string | undefined> = {}): string {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(given)) if (value) query.set(key, value);
  const text = query.toString();
  return `#/${view}${text ? `?${text}` : ""}`;
}

/** Go somewhere; `replace` leaves no step for the back button. */
export function go(hash: string, replace = false): void {
  if (replace) history.replaceState(null, "", hash);
  else history.pushState(null, "", hash);
  dispatchEvent(new HashChangeEvent("hashchange"));
}

/** Where we are, followed as it changes. */
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
