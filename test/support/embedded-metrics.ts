import * as z from 'zod';

const name = z.string().min(1).max(1024);

/** A line in CloudWatch's embedded metric format, with the limits of its specification; members that it does not define are errors. */
const embedded = z.looseObject({
  _aws: z.strictObject({
    /** milliseconds since the epoch; CloudWatch accepts two weeks of the past and two hours of the future */
    Timestamp: z.int().refine((time) => Math.abs(time - Date.now()) < 7_200_000),
    CloudWatchMetrics: z.array(
      z.strictObject({
        Namespace: z.string().regex(/^[\w .\-/#:]{1,256}$/),
        Dimensions: z.array(z.array(name).max(30)).min(1),
        Metrics: z
          .array(z.strictObject({ Name: name, Unit: z.string().optional(), StorageResolution: z.literal([1, 60]).optional() }))
          .min(1)
          .max(100),
      }),
    ),
  }),
});

export interface EmbeddedMetric {
  namespace: string;
  metric: string;
  dimensions: Record<string, string>;
  value: number;
}

/**
 * The values that CloudWatch extracts from a log line.
 * @throws if a line with `_aws` does not follow the specification: CloudWatch would ignore it
 */
export function readEmbeddedMetrics(line: string): EmbeddedMetric[] {
  const root: Record<string, unknown> = JSON.parse(line);
  if (!('_aws' in root)) return [];
  return embedded.parse(root)._aws.CloudWatchMetrics.flatMap(({ Namespace: namespace, Dimensions, Metrics }) =>
    Dimensions.flatMap((set) =>
      Metrics.map(({ Name: metric }) => ({
        namespace,
        metric,
        // dimension values are texts, metric values numbers, and both are members of the root
        dimensions: Object.fromEntries(set.map((key) => [key, name.parse(root[key])])),
        value: z.number().parse(root[metric]),
      })),
    ),
  );
}
