// The files of a project as a treemap by size, and circular imports.
import type { VNode } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { Empty, pressed } from "./parts";
import { address } from "./route";
import { count, counted, Name, visible } from "./text";
import { squarify, type Rectangle } from "./treemap";
import type { Cycle, ModuleBox, ModulesPage } from "./types";

const HEAD = 18;
const FIRST_SIZE: Size = { width: 1_200, height: 720 }; // until the area is measured

interface Size {
  width: number;
  height: number;
}

interface Box {
  rectangle: Rectangle;
  module: ModuleBox;
}

interface FolderBox {
  rectangle: Rectangle;
  name: string;
  boxes: Box[];
}

function folders(modules: ModuleBox[], { width, height }: Size): FolderBox[] {
  const groups = new Map<string, ModuleBox[]>();
  for (const module of modules) {
    const name = module.path.split("/").slice(0, -1).slice(0, 3).join("/") || ".";
    const group = groups.get(name);
    if (group) group.push(module);
    else groups.set(name, [module]);
  }
  const weight = (module: ModuleBox) => Math.max(200, module.size_bytes);
  const sized = [...groups].map(([name, inside]) => ({ name, inside, weight: inside.reduce((sum, each) => sum + weight(each), 0) }));
  sized.sort((a, b) => b.weight - a.weight || (a.name < b.name ? -1 : 1));
  const places = squarify(sized.map((each) => each.weight), { x: 0, y: 0, width, height });
  return sized.map(({ name, inside }, index) => {
    const rectangle = places[index]!;
    const head = rectangle.height > 44 && rectangle.width > 40 ? HEAD : 2;
    const inner = { x: rectangle.x + 2, y: rectangle.y + head, width: Math.max(1, rectangle.width - 4), height: Math.max(1, rectangle.height - head - 2) };
    const ordered = [...inside].sort((a, b) => weight(b) - weight(a) || (a.path < b.path ? -1 : 1));
    const boxes = squarify(ordered.map(weight), inner).map((each, at) => ({ rectangle: each, module: ordered[at]! }));
    return { rectangle, name, boxes };
  });
}

function truncateToWidth(text: string, width: number): string {
  const [most, whole] = [Math.floor(width / 6.4), visible(text)];
  if (whole.length <= most) return whole;
  return most < 4 ? "" : `${whole.slice(0, most - 1)}…`;
}

/** A box for every file, with an area proportional to its size. */
export function Treemap({ page, tests, open }: { page: ModulesPage; tests: boolean; open: (path: string) => void }): VNode {
  const area = useRef<HTMLDivElement>(null);
  const [size, setSize] = useState(FIRST_SIZE);
  const every = useMemo(() => folders(page.modules.filter((each) => tests || !each.is_test), size), [page, tests, size]);
  useLayoutEffect(() => {
    const measure = () => { if (area.current) setSize({ width: area.current.clientWidth, height: area.current.clientHeight }); };
    measure();
    addEventListener("resize", measure);
    return () => removeEventListener("resize", measure);
  }, []);
  if (!page.modules.length) return <Empty title="No file is indexed yet" />;
  const most = Math.max(1, ...page.modules.map((each) => each.imported_by));
  return (
    <>
    <div class="graph-area" ref={area}>
      <svg id="drawing" viewBox={`0 0 ${size.width} ${size.height}`} role="group" aria-label="modules by size; a stronger colour means more importing files">
        {every.map(({ rectangle, name, boxes }) => (
          <g>
            <rect class="folder" {...rectangle} />
            {rectangle.height > 44 && <text class="folder-label" x={rectangle.x + 6} y={rectangle.y + 13}>{truncateToWidth(name, rectangle.width - 8)}</text>}
            {boxes.map(({ rectangle: own, module }) => (
              <g role="button" tabindex={own.width * own.height > 900 ? 0 : -1} onClick={() => open(module.path)} onKeyDown={pressed(() => open(module.path))}>
                <title>{`${visible(module.path)}\nimported by ${counted(module.imported_by, "file")}`}</title>
                <rect class={`box shade-${Math.min(4, Math.floor((5 * Math.log1p(module.imported_by)) / Math.log1p(most)))} ${module.is_test ? "test" : ""}`} {...own} />
                {own.height > 17 && own.width > 34 && <text class="box-label" x={own.x + 5} y={own.y + 14}>{truncateToWidth(module.path.split("/").at(-1) ?? "", own.width - 8)}</text>}
              </g>
            ))}
          </g>
        ))}
      </svg>
    </div>
    <p class="graph-note">{counted(page.total, "file")} by size. Stronger colour: more importing files; grey: tests. Click a box to see its neighbourhood.{page.total > page.modules.length ? ` ${count(page.modules.length)} are shown.` : ""}</p>
    </>
  );
}

/** Return the cycles to show; cycles of tests only if tests are shown. */
export function visibleCycles(page: ModulesPage, tests: boolean): Cycle[] {
  const ofTests = new Set(page.modules.filter((each) => each.is_test).map((each) => each.path));
  return page.cycles.filter((cycle) => tests || !cycle.path.every((path) => ofTests.has(path)));
}

/** The import cycles, each drawn as a ring. */
export function Cycles({ page, tests, project }: { page: ModulesPage; tests: boolean; project: string }): VNode {
  const listed = visibleCycles(page, tests);
  if (!listed.length) return <Empty title={page.notes.length ? "No circular imports found so far" : "No circular imports"} />;
  return (
    <ul class="cards">
      {listed.map((cycle) => (
        <li class="card cycle">
          <CycleRing cycle={cycle} />
          <div>
            <div class="card-head"><h2>{counted(cycle.files.length, "file")}</h2><span class="tag">{cycle.mode === "runtime" ? "at run time" : `${cycle.mode} imports`}</span></div>
            <ol class="cycle-path">{[...cycle.path, cycle.path[0] ?? ""].map((path) => <li><a href={address("graph", { symbol: path, mode: "around", project })}><Name text={path} /></a></li>)}</ol>
            {cycle.files.length > cycle.path.length && <p class="muted">A shortest cycle; {counted(cycle.files.length - cycle.path.length, "more file")} {cycle.files.length - cycle.path.length === 1 ? "is" : "are"} connected to it in both directions.</p>}
          </div>
        </li>
      ))}
    </ul>
  );
}

const RING = 52;
const MAX_NAMED = 12;

/** A cycle drawn as a clockwise ring of arrows. */
function CycleRing({ cycle }: { cycle: Cycle }): VNode {
  const spots = cycle.path.map((path, index) => {
    const angle = (index / cycle.path.length - 0.5) * 2 * Math.PI;
    return { path, x: RING * Math.cos(angle), y: RING * Math.sin(angle) };
  });
  return (
    <svg class="cycle-ring" viewBox="-190 -78 380 156" role="img" aria-label={visible(`${cycle.path.join(" imports ")} imports ${cycle.path[0] ?? ""}`)}>
      <defs><marker id="arrow" viewBox="0 0 8 8" refX="14" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path class="arrow-head" d="M0 0 8 4 0 8z" /></marker></defs>
      {spots.map((from, index) => {
        const to = spots[(index + 1) % spots.length]!;
        return <path class="edge strong" marker-end="url(#arrow)" d={`M${from.x} ${from.y}A${RING} ${RING} 0 0 1 ${to.x} ${to.y}`} />;
      })}
      {spots.map(({ path, x, y }) => (
        <g class="node">
          <title>{visible(path)}</title>
          <circle cx={x} cy={y} r={6} />
          {spots.length <= MAX_NAMED && <text x={x + (x < -1 ? -10 : 10)} y={y + 4} text-anchor={x < -1 ? "end" : "start"}>{truncateToWidth(path.split("/").at(-1) ?? "", 128)}</text>}
        </g>
      ))}
    </svg>
  );
}
