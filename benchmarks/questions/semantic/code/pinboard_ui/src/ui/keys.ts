type Handler = () => void;

const bindings = new Map<string, Handler>();

export function bind(combo: string, fn: Handler): void {
  bindings.set(combo.toLowerCase(), fn);
}

function comboOf(e: KeyboardEvent): string {
  const mods = [e.ctrlKey || e.metaKey ? 'mod' : '', e.shiftKey ? 'shift' : '', e.altKey ? 'alt' : ''];
  return [...mods.filter(Boolean), e.key.toLowerCase()].join('+');
}

export function install(root: HTMLElement): void {
  root.addEventListener('keydown', (e) => {
    const t = e.target as HTMLElement;
    if (t.isContentEditable || /^(input|textarea|select)$/i.test(t.tagName)) return;
    const fn = bindings.get(comboOf(e));
    if (!fn) return;
    e.preventDefault();
    fn();
  });
}
