import type { ComponentChildren } from 'preact';

export type Tone = 'good' | 'bad' | 'warn' | 'info';

export const Badge = ({ tone, children }: { tone?: Tone | undefined; children: ComponentChildren }) => (
  <span class={tone === undefined ? 'badge' : `badge ${tone}`}>{children}</span>
);

const methodTones: Record<string, Tone> = { GET: 'info', POST: 'good', PUT: 'warn', PATCH: 'warn', DELETE: 'bad' };

export const MethodBadge = ({ method }: { method: string }) => <span class={`badge method ${methodTones[method] ?? ''}`}>{method}</span>;

export const StatusBadge = ({ status }: { status: number }) => (
  <Badge tone={status >= 500 ? 'bad' : status >= 400 ? 'warn' : status >= 300 ? 'info' : 'good'}>{status}</Badge>
);
