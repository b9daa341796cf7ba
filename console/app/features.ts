/** The socket of the features in the console: each adds a section. */
import type { ComponentChild } from 'preact';
import type { Call } from './made-calls.ts';
import { receiptsView } from './receipts/view.tsx';
import type { Route } from './route.ts';

export interface FeatureView {
  /** first segment of its routes; the second is the id of an execution, if {@link ofCall} leads there */
  path: string;
  title: string;
  View: (route: Route) => ComponentChild;
  /** the text of its link beside a call that was made in this tab; undefined if it has nothing about that call */
  ofCall?: (call: Pick<Call, 'receipt'>) => string | undefined;
}

export const features: readonly FeatureView[] = [receiptsView];
