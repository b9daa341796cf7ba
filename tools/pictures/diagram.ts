/** A message, or a step by one party. */
interface Step {
  from: string;
  to?: string;
  text: string;
}

export interface Diagram {
  parties: string[];
  steps: Step[];
}

/**
 * Parses a sequence diagram: a line with the parties, then a step per line, `one -> other: text` or `one: text`.
 * @throws TypeError naming the invalid line
 */
export function readDiagram(source: string): Diagram {
  const [first = '', ...lines] = source.split('\n').filter((line) => line.trim() !== '');
  const parties = first.split(',').map((name) => name.trim());
  const steps = lines.map((line) => {
    const [, from = '', to, text = ''] = /^(\w+)(?:\s*->\s*(\w+))?:\s*(.+)$/.exec(line) ?? [];
    if (!parties.includes(from) || (to !== undefined && !parties.includes(to))) throw new TypeError(`invalid step: ${line}`);
    return { from, text, ...(to !== undefined && { to }) };
  });
  return { parties, steps };
}

const palettes = {
  light: { ink: '#1d2733', quiet: '#55616e', paper: '#ffffff', shade: '#f3f5f8', accent: '#1458a8' },
  dark: { ink: '#e4e9ee', quiet: '#a9b5c1', paper: '#0d1117', shade: '#21262b', accent: '#8ab8f0' },
};

export type Scheme = keyof typeof palettes;

const width = 860;
const boxHeight = 36;
const stepHeight = 40;

const escapeXml = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

export function drawDiagram({ parties, steps }: Diagram, title: string, scheme: Scheme): string {
  const { ink, quiet, paper, shade, accent } = palettes[scheme];
  const height = boxHeight + (steps.length + 1) * stepHeight;
  const xOf = (party: string): number => ((parties.indexOf(party) + 0.5) * width) / parties.length;
  const heads = parties.flatMap((party) => [
    `<line x1="${xOf(party)}" y1="${boxHeight}" x2="${xOf(party)}" y2="${height - 8}" stroke="${quiet}" stroke-dasharray="3 4"/>`,
    `<rect x="${xOf(party) - 70}" y="1" width="140" height="${boxHeight}" rx="8" fill="${shade}" stroke="${quiet}"/>`,
    `<text x="${xOf(party)}" y="24" text-anchor="middle" font-weight="600">${escapeXml(party)}</text>`,
  ]);
  const bodies = steps.flatMap(({ from, to, text }, at) => {
    const y = boxHeight + (at + 1) * stepHeight;
    if (to === undefined) {
      const half = text.length * 3.6 + 14;
      return [
        `<rect x="${xOf(from) - half}" y="${y - 18}" width="${2 * half}" height="27" rx="13" fill="${shade}" stroke="${accent}"/>`,
        `<text x="${xOf(from)}" y="${y}" text-anchor="middle">${escapeXml(text)}</text>`,
      ];
    }
    const [x1, x2] = [xOf(from), xOf(to)];
    return [
      `<text x="${(x1 + x2) / 2}" y="${y - 6}" text-anchor="middle" stroke="${paper}" stroke-width="4" paint-order="stroke">${escapeXml(text)}</text>`,
      `<line x1="${x1}" y1="${y + 4}" x2="${x2 - Math.sign(x2 - x1) * 3}" y2="${y + 4}" stroke="${accent}" stroke-width="1.5" marker-end="url(#tip)"/>`,
    ];
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escapeXml(title)}" font-family="system-ui, sans-serif" font-size="13" fill="${ink}">
<rect width="100%" height="100%" fill="${paper}"/>
<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" fill="${accent}"/></marker></defs>
${[...heads, ...bodies].join('\n')}
</svg>
`;
}
