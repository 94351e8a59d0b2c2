module Lendery
  # cents
  module Fines
    PER_DAY = 50
    GRACE = 1

    module_function

    def for_loan(loan, today = Date.today)
      last = loan.returned_on || today
      days = (loan.due_on...last).count { |d| OpeningHours.open?(d) } - GRACE
      return 0 if days <= 0

      [days * PER_DAY, loan.item.replacement_cents].min
    end

    def waive(member, by:, reason:)
      raise ArgumentError, 'reason missing' if reason.to_s.strip.empty?

      Fine.where(member_id: member.id, settled: false).update(settled: true, waived_by: by, note: reason)
    end
  end
end
