const dictionaries: Record<string, Record<string, string>> = {
  en: { 'card.one': '{n} card', 'card.other': '{n} cards', 'due.today': 'due today' },
  de: { 'card.one': '{n} Karte', 'card.other': '{n} Karten', 'due.today': 'heute fällig' },
};

let lang = pick(navigator.languages);

export function pick(wanted: readonly string[]): string {
  for (const w of wanted) {
    const short = w.slice(0, 2).toLowerCase();
    if (short in dictionaries) return short;
  }
  return 'en';
}

export function plural(key: string, n: number): string {
  const rule = new Intl.PluralRules(lang).select(n);
  const text = dictionaries[lang][`${key}.${rule}`] ?? dictionaries.en[`${key}.${rule}`];
  return text.replace('{n}', String(n));
}

export function ago(at: number, now = Date.now()): string {
  const f = new Intl.RelativeTimeFormat(lang, { numeric: 'auto' });
  const min = Math.round((at - now) / 60_000);
  if (Math.abs(min) < 60) return f.format(min, 'minute');
  if (Math.abs(min) < 1440) return f.format(Math.round(min / 60), 'hour');
  return f.format(Math.round(min / 1440), 'day');
}
