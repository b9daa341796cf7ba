import type { Check } from './check.ts';

export interface CheckOutcome extends Pick<Check, 'id' | 'clause' | 'title'> {
  outcome: 'passed' | 'failed' | 'skipped';
  /** findings, or the reason for skipping the check */
  notes: string[];
}

export interface Report {
  url: string;
  protocol: string;
  passed: number;
  failed: number;
  skipped: number;
  checks: CheckOutcome[];
  /** records that could not be removed */
  left_behind: string[];
}
