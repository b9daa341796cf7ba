import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { FoldedTable } from '../components/table.tsx';
import type { Tone } from '../components/text.tsx';

interface Series {
  name: string;
  tone: Extract<Tone, 'bad' | 'warn'> | 'accent';
  values: readonly number[];
}

interface ChartProps {
  title: string;
  /** start of each slot, in milliseconds since the epoch */
  times: readonly number[];
  /** stacked from the bottom, each with a value per slot */
  series: readonly Series[];
  nameValue?(value: number): string;
  nameTime(timeMs: number): string;
  /** what the bar of a slot links to */
  linkOf(timeMs: number): string;
}

/** Fewest slots, so that one bar does not fill the chart. */
const fewest = 6;

const height = 176;
const margin = { left: 44, right: 8, top: 10, bottom: 22 };
const plotHeight = height - margin.top - margin.bottom;

/** A stacked bar chart over time, from the first slot with a value, with a table of the same data. */
export function Chart({ title, nameValue = String, nameTime, linkOf, ...all }: ChartProps) {
  const used = all.times.findIndex((_, at) => all.series.some(({ values }) => (values[at] ?? 0) > 0));
  const first = Math.max(0, Math.min(used, all.times.length - fewest));
  const times = all.times.slice(first);
  const series = all.series.map((one) => ({ ...one, values: one.values.slice(first) }));
  const box = useRef<HTMLElement>(null);
  const [width, setWidth] = useState(600);
  useLayoutEffect(() => {
    if (!box.current) return undefined;
    const observer = new ResizeObserver(([entry]) => setWidth(Math.max(240, entry?.contentRect.width ?? 600)));
    observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  const totals = times.map((_, at) => series.reduce((sum, { values }) => sum + (values[at] ?? 0), 0));
  const ticks = ticksUpTo(Math.max(1, ...totals));
  const scale = plotHeight / (ticks.at(-1) ?? 1);
  const step = (width - margin.left - margin.right) / Math.max(1, times.length);
  const every = Math.ceil(times.length / Math.max(2, Math.floor(width / 110)));
  const yOf = (value: number) => margin.top + plotHeight - value * scale;
  return (
    <figure class="chart" ref={box}>
      <figcaption>
        <span>{title}</span>
        <span class="keys" aria-hidden="true">
          {series.map(({ name, tone }) => (
            <span key={name}>
              <i class={tone} />
              {name}
            </span>
          ))}
        </span>
      </figcaption>
      <svg viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
        {ticks.map((tick) => (
          <g key={tick}>
            <line class="grid" x1={margin.left} x2={width - margin.right} y1={yOf(tick)} y2={yOf(tick)} />
            <text x={margin.left - 6} y={yOf(tick) + 4} text-anchor="end">
              {nameValue(tick)}
            </text>
          </g>
        ))}
        {times.map((time, at) => {
          let below = 0;
          const x = margin.left + at * step;
          return (
            // the table has the same links for the keyboard
            <a key={time} class="slot" href={linkOf(time)} tabindex={-1}>
              <title>{[nameTime(time), ...series.map(({ name, values }) => `${name}: ${nameValue(values[at] ?? 0)}`)].join('\n')}</title>
              <rect x={x} y={margin.top} width={step} height={plotHeight} fill="transparent" />
              {series.map(({ name, tone, values }) => {
                const value = values[at] ?? 0;
                below += value;
                const gap = Math.min(2, step / 4);
                return <rect key={name} class={tone} x={x + gap / 2} y={yOf(below)} width={step - gap} height={value * scale} />;
              })}
              {at % every === 0 && (
                <text x={x} y={height - 6}>
                  {nameTime(time)}
                </text>
              )}
            </a>
          );
        })}
      </svg>
      <FoldedTable
        title="Numbers"
        label={title}
        heads={['From', ...series.map(({ name }) => name)]}
        numbers={series.map(({ name }) => name)}
        rows={times.flatMap((time, at) =>
          totals[at] === 0
            ? []
            : [[<a href={linkOf(time)}>{nameTime(time)}</a>, ...series.map(({ values }) => nameValue(values[at] ?? 0))]],
        )}
      />
    </figure>
  );
}

/** Four or five round numbers, from 0 to at least `most`. */
function ticksUpTo(most: number): number[] {
  const rough = most / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(1, ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10) * power);
  return Array.from({ length: Math.ceil(most / step) + 1 }, (_, at) => at * step);
}
