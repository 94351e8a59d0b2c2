import { useEffect, useRef } from 'preact/hooks';
import type { ComponentChildren } from 'preact';

interface Props {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
}

/** Tab stays inside; Escape closes; focus returns to where it was. */
export function Dialog({ title, onClose, children }: Props) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    box.current?.focus();
    return () => before?.focus();
  }, []);

  function onKeyDown(e: KeyboardEvent) {
    if (e.key === 'Escape') return onClose();
    if (e.key !== 'Tab' || !box.current) return;
    const items = box.current.querySelectorAll<HTMLElement>('button, [href], input, select, textarea');
    const last = items[items.length - 1];
    if (e.shiftKey && document.activeElement === items[0]) {
      e.preventDefault();
      last.focus();
    } else if (!e.shiftKey && document.activeElement === last) {
      e.preventDefault();
      items[0].focus();
    }
  }

  return (
    <div role="dialog" aria-modal="true" aria-label={title} tabIndex={-1} ref={box} onKeyDown={onKeyDown}>
      <h2>{title}</h2>
      {children}
    </div>
  );
}

export function linkify(text: string): ComponentChildren[] {
  return text
    .split(/(https?:\/\/\S+)/)
    .map((part, i) => (i % 2 ? <a href={part} rel="noopener noreferrer" target="_blank">{part}</a> : part));
}
