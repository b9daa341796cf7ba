import { config } from 'zod';

// The page's policy forbids to make code of text, and zod would try it, which browsers report as an error.
config({ jitless: true });
