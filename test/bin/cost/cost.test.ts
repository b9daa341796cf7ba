import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { estimate, readDeployment } from '../../../bin/cost/estimate.ts';
import { renderCost } from '../../../bin/cost/render.ts';
import { synthesize } from '../../lib/synthesize.ts';

const sum = (parts: Record<string, number>) => Object.values(parts).reduce((total, part) => total + part, 0);

describe('the cost of a deployment', () => {
  const standard = readDeployment(synthesize().template.Resources);

  test('is that of docs/cost.md: npm run cost -- --write', () => {
    expect(readFileSync('docs/cost.md', 'utf8')).toBe(renderCost(standard));
  });

  test('is small without any calls', () => {
    const idle = estimate(standard, 0);
    expect(sum(idle)).toBeLessThan(6);
    expect(idle['API Gateway']).toBe(0);
  });

  test('counts what the template adds', () => {
    const two = readDeployment(synthesize({ signingKeys: 'a,b', waf: true }).template.Resources);
    expect(estimate(two, 0)).toEqual({ ...estimate(standard, 0), KMS: 2, Firewall: 7 });
  });

  test('grows with traffic in every part', () => {
    const [less, more] = [estimate(standard, 1_000_000), estimate(standard, 2_000_000)];
    for (const part of ['API Gateway', 'Lambda', 'DynamoDB', 'KMS', 'CloudWatch logs', 'X-Ray']) {
      expect([part, (more[part] ?? 0) > (less[part] ?? 0)]).toEqual([part, true]);
    }
  });
});
