require 'mail'

module Lendery
  module Notices
    module_function

    def due_tomorrow(today = Date.today)
      Loan.where(due_on: today + 1, returned_on: nil).each do |loan|
        send_mail(loan.member, "#{loan.item.name} is due tomorrow", <<~TEXT)
          Hello #{loan.member.first_name},

          please bring it back or renew on the web site.
        TEXT
      end
    end

    def ready(hold)
      send_mail(hold.member, "#{hold.item.name} is here for you", "We put it aside until #{hold.ready_until}.")
    end

    def send_mail(member, subject, text)
      return if member.no_mail

      Mail.deliver do
        from 'desk@lendery.example'
        to member.email
        subject subject
        body text
      end
    end
  end
end
