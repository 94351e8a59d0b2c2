// The page: navigation, the frame around every view, and global keys.
import { render, type ComponentType, type VNode } from "preact";
import { lazy, Suspense } from "preact/compat";
import { useEffect, useRef, useState } from "preact/hooks";
import icon from "../pages/icon.svg";
import { setCsrf, view } from "./api";
import { ApisView } from "./apis";
import { loadHighlighter } from "./code";
import { ContractsView } from "./contracts";
import { editors, editorTemplate, setEditorTemplate, templateOf } from "./editor";
import { ExploreView } from "./explore";
import { HealthView } from "./health";
import { MemoryView } from "./memory";
import { isUnreachable, Problem, RETRY_MS, errorMessage } from "./parts";
import { ReviewView } from "./review";
import { address, go, readPlace, usePlace } from "./route";
import { SearchView } from "./search";
import { SourcesView } from "./sources";
import { TeamView } from "./team";
import { Name, visible } from "./text";
import { isOn, setToolsets } from "./toolsets";
import type { PageState } from "./types";

const PAINT_MS = 150;
const TEAM = "team"; // needs a shared database
const sleep = (ms: number) => new Promise((end) => setTimeout(end, ms));
const GraphView = lazy(() => import("./graph").then((loaded) => loaded.GraphView));
type View = ComponentType<{ given: Record<string, string>; state: PageState; reload: () => void }>;
// Name, label, component, icon path, required toolset.
const VIEWS: [string, string, View, string, string][] = [
  ["search", "Search", SearchView, "M11 4.5a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13M16 16l4.5 4.5", ""],
  ["explore", "Explore", ExploreView, "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18M15.5 8.5l-2 5-5 2 2-5z", "code"],
  ["graph", "Graph", GraphView as unknown as View, "M6 18a2 2 0 1 0 0-.01M18 18a2 2 0 1 0 0-.01M12 6a2 2 0 1 0 0-.01M11 8l-4 8M13 8l4 8M8 18h8", "graph"],
  ["review", "Review", ReviewView, "M4 6h10M4 12h7M4 18h7M14 16l2.5 2.5L21 13", "graph"],
  ["contracts", "Contracts", ContractsView, "M4 8h9l-3-3M20 16h-9l3 3", "graph"],
  ["memory", "Memory", MemoryView, "M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16M12 8v4l3 2", "memory"],
  ["sources", "Sources", SourcesView, "M5 4h10l4 4v12H5zM9 12h6M9 16h6", "docs"],
  ["apis", "APIs", ApisView, "M8 5 3 12l5 7M16 5l5 7-5 7", "apis"],
  ["health", "Health", HealthView, "M3 12h4l3-7 4 14 3-7h4", ""],
  [TEAM, "Team", TeamView, "M8 11a3 3 0 1 0 0-.01M16 11a3 3 0 1 0 0-.01M3 19c0-3 2-5 5-5s5 2 5 5M13 15c4-2 8 0 8 4", ""],
];
const KEYS: [string, string][] = [
  ["/", "search"], ["↑ ↓", "select and open a result or an operation"], ["Enter", "open the first result, or the selected node of a graph"], ["Esc", "leave a field; again: close the open document"],
  ["g then s e g r c m o a h", "go to search, explore, graph, review, contracts, memory, sources, APIs, health; w: team"], ["t", "switch between light and dark"], ["?", "show this list"],
];
const JUMPS: Record<string, string> = { s: "search", e: "explore", m: "memory", g: "graph", r: "review", c: "contracts", o: "sources", a: "apis", h: "health", w: TEAM };

function Page(): VNode {
  const place = usePlace();
  const [state, setState] = useState<PageState>();
  const [problem, setProblem] = useState("");
  const [away, setAway] = useState(0);
  const [help, setHelp] = useState(false);
  const load = () => {
    view<PageState>("state").then((found) => { setCsrf(found.csrf); setToolsets(found.toolsets); setState(found); setProblem(""); setAway(0); }, (error: unknown) => { setProblem(errorMessage(error)); setAway(isUnreachable(error) ? away + 1 : 0); });
  };
  useEffect(load, []);
  useEffect(() => { if (away) { const timer = setTimeout(load, RETRY_MS); return () => clearTimeout(timer); } return undefined; }, [away]);
  useKeys(() => setHelp(true));
  const offered = VIEWS.filter(([name, , , , toolset]) => (name !== TEAM || state?.is_shared) && (!state || isOn(toolset)));
  const [, title, Shown] = offered.find(([name]) => name === place.view) ?? VIEWS[0]!;
  useEffect(() => {
    document.title = `${place.given["q"] ? `${place.given["q"]} · ` : ""}${title} · Deltos`;
  }, [title, place.given["q"]]);
  return (
    <div class="shell">
      <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); document.getElementById("main")?.focus(); }}>Skip to the content</a>
      <aside class="side">
        <a class="brand" href={address("search")}><img src={icon} alt="" width="22" height="22" /><b>Deltos</b></a>
        <nav aria-label="views">
          {offered.map(([name, label, , path]) => (
            <a class="view-link" href={address(name, { project: place.given["project"] })} aria-current={name === place.view ? "page" : undefined}>
              <svg viewBox="0 0 24 24" aria-hidden="true"><path d={path} /></svg><span>{label}</span>
            </a>
          ))}
        </nav>
        <div class="side-foot">
          {state && <ProjectChoice state={state} chosen={place.given["project"] ?? ""} view={place.view} />}
          <div class="side-buttons">
            <button type="button" class="quiet" onClick={flipTheme} aria-label="switch between light and dark" title="switch between light and dark (t)">◐</button>
            <button type="button" class="quiet" onClick={() => setHelp(true)} aria-label="keys and settings" title="keys and settings (?)">?</button>
          </div>
        </div>
      </aside>
      <main class="main" id="main" tabIndex={-1}>
        <Problem text={problem} again={load} />
        {!state && !problem && <div class="skeleton" aria-busy="true" />}
        {state && <Suspense fallback={<div class="skeleton" />}><Shown key={`${place.view} ${place.given["project"] ?? ""}`} given={place.given} state={state} reload={load} /></Suspense>}
      </main>
      {help && <Help close={() => setHelp(false)} version={state?.version ?? ""} />}
    </div>
  );
}

function ProjectChoice({ state, chosen, view: shownView }: { state: PageState; chosen: string; view: string }): VNode {
  const others = state.projects.filter((each) => each.id !== state.project.id && each.exists);
  if (!others.length) return <span class="project-name" title={state.project.root}><Name text={state.project.name} /></span>;
  return (
    <select aria-label="project" value={chosen} onChange={(event) => go(address(shownView, { project: event.currentTarget.value }))}>
      <option value="">{visible(state.project.name)}</option>
      {others.map((each) => <option value={each.id}>{visible(each.name)}</option>)}
    </select>
  );
}

function Help({ close, version }: { close: () => void; version: string }): VNode {
  const dialog = useRef<HTMLDialogElement>(null);
  const [template, setTemplate] = useState(editorTemplate());
  const [valid, setValid] = useState(true);
  useEffect(() => dialog.current?.showModal(), []);
  const use = (text: string) => { setTemplate(text); setValid(setEditorTemplate(text)); };
  return (
    <dialog ref={dialog} onClose={close} aria-labelledby="help-title">
      <h2 id="help-title">Keys</h2>
      <dl class="keys">{KEYS.map(([key, what]) => <div><dt><kbd>{key}</kbd></dt><dd>{what}</dd></div>)}</dl>
      <h2>Editor</h2>
      <p class="muted">Line numbers link to this address; {"{path}"} and {"{line}"} are replaced.</p>
      <div class="chips">{editors.map((name) => <button type="button" class="chip" aria-pressed={templateOf(name) === template} onClick={() => use(templateOf(name))}>{name}</button>)}</div>
      <input class="template" aria-label="editor link template" value={template} onInput={(event) => use(event.currentTarget.value)} aria-invalid={!valid} spellcheck={false} />
      {!valid && <p class="note">The address must begin with an editor's scheme, such as vscode://, and contain {"{path}"}.</p>}
      <form method="dialog" class="dialog-foot"><span class="muted">Deltos {version}</span><button class="primary">Close</button></form>
    </dialog>
  );
}

function flipTheme(): void {
  const root = document.documentElement;
  const dark = root.dataset["theme"] ? root.dataset["theme"] === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset["theme"] = dark ? "light" : "dark";
  localStorage.setItem("deltos-theme", root.dataset["theme"]);
  dispatchEvent(new Event("deltos-theme"));
}

function closeDocument(): void {
  const { view: shownView, given } = readPlace(location.hash);
  if (given["id"]) go(address(shownView, { ...given, id: "" }));
}

function useKeys(openHelp: () => void): void {
  useEffect(() => {
    let jumping = false;
    const listen = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      if (event.key === "Escape" && target instanceof HTMLInputElement) {
        event.preventDefault(); // browsers would clear the search field
        return target.blur();
      }
      if (target.closest("input, textarea, select, dialog") || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "Escape") return closeDocument();
      if (jumping) {
        jumping = false;
        const to = JUMPS[event.key];
        if (to) {
          event.preventDefault(); // otherwise a field that takes the focus receives the letter
          return go(address(to, { project: readPlace(location.hash).given["project"] }));
        }
      }
      if (event.key === "/") {
        event.preventDefault();
        const field = document.getElementById("query");
        if (field instanceof HTMLInputElement) field.select();
        else go(address("search", { project: readPlace(location.hash).given["project"] }));
      } else if (event.key === "?") openHelp();
      else if (event.key === "t") flipTheme();
      else if (event.key === "g") jumping = true;
    };
    addEventListener("keydown", listen);
    return () => removeEventListener("keydown", listen);
  }, []);
}

function start(root: HTMLElement): void {
  root.replaceChildren();
  render(<Page />, root);
  (globalThis.requestIdleCallback ?? setTimeout)(() => void loadHighlighter()); // not available in Safari
}

// Wait for the first paint of the static shell before rendering, which would delay it. If no paint is reported (a
// background tab, an old browser), wait PAINT_MS instead.
const painted = new Promise<void>((end) => {
  new PerformanceObserver((_, observer) => { observer.disconnect(); end(); }).observe({ type: "paint", buffered: true });
});
const root = document.getElementById("app");
if (root) void Promise.race([painted, sleep(PAINT_MS)]).then(() => start(root));
